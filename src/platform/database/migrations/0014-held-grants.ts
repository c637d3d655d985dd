// Who gives an agent a capability needs the scope `agents:capabilities`, and an agent keeps that it has had one. Agents
// and applications keep the scopes that they have had.

/** Applications that hold every scope of 0.1.0, as the first one of each tenant does, go on holding every scope. */
export const heldGrants = `
ALTER TABLE agents ADD COLUMN had_capabilities boolean NOT NULL DEFAULT false,
  ADD COLUMN had_scopes text[] NOT NULL DEFAULT '{}';
ALTER TABLE applications ADD COLUMN had_scopes text[] NOT NULL DEFAULT '{}';

UPDATE applications SET scopes = array_append(scopes, 'agents:capabilities')
WHERE deleted_at IS NULL AND agent_id IS NULL AND NOT 'agents:capabilities' = ANY (scopes) AND scopes @> ARRAY[
  'openid', 'profile', 'email', 'offline_access', 'wallet:sign', 'vault:read', 'agents:read', 'agents:write',
  'agents:impersonate', 'applications:read', 'applications:write', 'webhooks:read', 'webhooks:write', 'delegations:read',
  'delegations:write', 'events:read', 'events:write', 'audit:read', 'tenant:read', 'tenant:write', 'ssf.read',
  'ssf.manage'
];
`;

// Users whom delegations name: the name is sealed with a key of the user, and both go when the user is forgotten.
import type { MigrationStep } from '../migration-steps.ts';

export const users: readonly MigrationStep[] = [
  `
-- A user as an issuer names it. The id is the sub of delegated tokens; it is random, and so says nothing of the name.
CREATE TABLE users (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  -- HMAC of issuer and sub under a key that is derived from a master key: finds the user. It is not unique: while a
  -- master key is changed, processes with the new one and without it may each make a row of one user.
  digest text NOT NULL,
  -- Issuer and sub, sealed with the user's key.
  name bytea NOT NULL,
  -- The user's key, sealed with a master key. It seals addresses in the audit log, too.
  key_sealed bytea NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX users_by_digest ON users (tenant_id, digest);
CREATE INDEX users_by_sealing_key ON users (sealing_key(key_sealed), id);

-- No reference: the delegations of a user who is forgotten stay, and name nobody.
ALTER TABLE delegations ADD COLUMN user_id uuid;
-- Names that an earlier version wrote, until they are moved to users. Else a text that names nobody: a process of that version shows it.
ALTER TABLE delegations ALTER COLUMN subject_issuer SET DEFAULT 'https://sealed.invalid', ALTER COLUMN subject_sub SET DEFAULT 'sealed';

CREATE OR REPLACE VIEW delegation_records AS
SELECT delegation.id, delegation.tenant_id, delegation.agent_id, delegation.subject_issuer, delegation.subject_sub,
       delegation.scopes, delegation.audience, delegation.expires_at, delegation.created_at,
       coalesce(delegation.revoked_at, agent.deleted_at) AS revoked_at,
       CASE WHEN delegation.revoked_at IS NULL AND agent.deleted_at IS NOT NULL THEN 'agent_deleted'
            ELSE delegation.revoked_reason END AS revoked_reason,
       CASE WHEN delegation.revoked_at IS NOT NULL OR agent.deleted_at IS NOT NULL THEN 'revoked'
            WHEN delegation.expires_at <= now() THEN 'expired'
            ELSE 'active' END AS status,
       delegation.user_id, person.name AS user_name, person.key_sealed AS user_key
FROM delegations delegation
JOIN agents agent ON agent.id = delegation.agent_id
LEFT JOIN users person ON person.id = delegation.user_id;
`,
  { index: 'delegations_by_user', on: 'delegations (user_id)' },
  { index: 'delegations_with_plain_name', on: 'delegations (id) WHERE user_id IS NULL' },
];

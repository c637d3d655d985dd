// Who answers for an agent, and why the agent exists. Agents that are older than this say neither.

export const agentOwners = `
ALTER TABLE agents
  -- A person or team in the tenant's own words; nothing refers to it.
  ADD COLUMN owner text,
  ADD COLUMN purpose text;
`;

// What the workflow of a delegation writes down, which delegations have one, and the commands for those that are older than it.
import type { MigrationStep } from '../migration-steps.ts';

export const delegationExpiry: readonly MigrationStep[] = [
  `
-- expired_at: the end was written down, with its line in the audit log. Nobody decides by it: a delegation ends at expires_at.
ALTER TABLE delegations ADD COLUMN expired_at timestamptz(3);
`,
  'UPDATE delegations SET expired_at = expires_at WHERE expires_at <= now() AND revoked_at IS NULL',
  // Those that a workflow looks after.
  { index: 'delegations_open', on: 'delegations (id) WHERE revoked_at IS NULL AND expired_at IS NULL' },
  {
    index: 'delegations_open_by_agent',
    on: 'delegations (agent_id) WHERE revoked_at IS NULL AND expired_at IS NULL',
  },
  `
INSERT INTO workflow_commands (tenant_id, workflow, entity_id)
SELECT delegation.tenant_id, 'delegationExpiry', delegation.id
FROM delegations delegation JOIN agents agent ON agent.id = delegation.agent_id
WHERE delegation.revoked_at IS NULL AND delegation.expired_at IS NULL AND agent.deleted_at IS NULL;
`,
];

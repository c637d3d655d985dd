// Finding the entities whose workflow should be running, and asking for those that are older than their workflow.
import type { MigrationStep } from '../migration-steps.ts';

export const expectedWorkflows: readonly MigrationStep[] = [
  { index: 'agent_keys_deprecated', on: `agent_keys (id) WHERE state = 'deprecated'` },
  { index: 'subscriptions_overlapping', on: 'subscriptions (id) WHERE secret_overlap_ends_at IS NOT NULL' },
  { index: 'lanes_watched', on: 'lanes (subscription_id) WHERE watched' },
  `
-- Where one runs already it looks once more, which does no harm.
INSERT INTO workflow_commands (tenant_id, workflow, entity_id)
SELECT k.tenant_id, 'agentKeyRotation', k.id FROM agent_keys k JOIN agents a ON a.id = k.agent_id
WHERE k.state = 'deprecated' AND a.deleted_at IS NULL
UNION ALL
SELECT tenant_id, 'webhookSecretRotation', id FROM subscriptions WHERE secret_overlap_ends_at IS NOT NULL AND deleted_at IS NULL;
`,
];

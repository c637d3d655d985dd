// Finding the entities whose workflow should be running, and asking for those that are older than their workflow.
import type { MigrationStep } from '../migration-steps.ts';

export const expectedWorkflows: readonly MigrationStep[] = [
  { index: 'agent_keys_deprecated', on: `agent_keys (id) WHERE state = 'deprecated'` },
  { index: 'subscriptions_overlapping', on: 'subscriptions (id) WHERE secret_overlap_ends_at IS NOT NULL' },
  { index: 'endpoints_watched', on: 'endpoints (subscription_id) WHERE watched' },
  `
-- claimable_at: when a worker may take the command. due_at is the same for the version before, whose workers know four types of workflow
-- and would take commands for all: the others' are never due for them. The next release drops due_at, its index and the trigger.
ALTER TABLE workflow_commands ADD COLUMN claimable_at timestamptz(3) NOT NULL DEFAULT now();
CREATE FUNCTION hide_from_former_workers() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  NEW.due_at := 'infinity';
  RETURN NEW;
END
$function$;
CREATE TRIGGER workflow_commands_hidden BEFORE INSERT ON workflow_commands FOR EACH ROW
  WHEN (NEW.workflow <> ALL (ARRAY['agentKeyRotation', 'endpointRecovery', 'bulkRecovery', 'webhookSecretRotation']))
  EXECUTE FUNCTION hide_from_former_workers();
`,
  { index: 'workflow_commands_claimable', on: 'workflow_commands (claimable_at, id)' },
  `
-- Where one runs already it looks once more, which does no harm.
INSERT INTO workflow_commands (tenant_id, workflow, entity_id)
SELECT k.tenant_id, 'agentKeyRotation', k.id FROM agent_keys k JOIN agents a ON a.id = k.agent_id
WHERE k.state = 'deprecated' AND a.deleted_at IS NULL
UNION ALL
SELECT tenant_id, 'webhookSecretRotation', id FROM subscriptions WHERE secret_overlap_ends_at IS NOT NULL AND deleted_at IS NULL;
`,
];

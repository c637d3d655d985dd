// What the looks for anchors' proofs have found, and when the next one is due.
import type { MigrationStep } from '../migration-steps.ts';

export const anchorChecks: readonly MigrationStep[] = [
  `
-- checks: looks that were recorded. last_outcome: 'found', or the code of what was wrong. misses, missing_since: looks since the latest find
-- that found nothing, and the first of them; of verified anchors. requested_at: somebody asked for a look at once.
-- The default of next_check_at is for the version before, which inserts anchors without it while it is replaced; the next release drops it.
ALTER TABLE anchors
  ADD COLUMN next_check_at timestamptz(3) NOT NULL DEFAULT now(),
  ADD COLUMN requested_at timestamptz(3),
  ADD COLUMN checks integer NOT NULL DEFAULT 0,
  ADD COLUMN last_checked_at timestamptz(3),
  ADD COLUMN last_outcome text,
  ADD COLUMN last_found_at timestamptz(3),
  ADD COLUMN misses integer NOT NULL DEFAULT 0,
  ADD COLUMN missing_since timestamptz(3),
  ADD CONSTRAINT anchors_missing_since CHECK ((missing_since IS NULL) = (misses = 0)) NOT VALID;

CREATE OR REPLACE VIEW anchor_records AS
SELECT anchor.id, anchor.tenant_id, anchor.agent_id, anchor.type, anchor.value,
       CASE WHEN anchor.status = 'pending' AND anchor.expires_at <= now() THEN 'failed' ELSE anchor.status END AS status,
       anchor.proof, anchor.expires_at, anchor.verified_at, anchor.revoked_at, anchor.created_at,
       anchor.next_check_at, anchor.last_checked_at, anchor.last_outcome, anchor.missing_since
FROM anchors anchor
JOIN agents agent ON agent.id = anchor.agent_id
WHERE agent.deleted_at IS NULL;
`,
  'ALTER TABLE anchors VALIDATE CONSTRAINT anchors_missing_since',
  // Those that a workflow looks after.
  { index: 'anchors_live', on: `anchors (id) WHERE status IN ('pending', 'verified')` },
  `
INSERT INTO workflow_commands (tenant_id, workflow, entity_id)
SELECT anchor.tenant_id, 'anchorVerification', anchor.id
FROM anchors anchor JOIN agents agent ON agent.id = anchor.agent_id
WHERE anchor.status IN ('pending', 'verified') AND agent.deleted_at IS NULL;
`,
];

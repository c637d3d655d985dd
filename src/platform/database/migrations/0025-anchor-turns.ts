// When anchors are looked for, beside their own times: not while an operator holds them back, and one of a tenant's domain at a time.
import type { MigrationStep } from '../migration-steps.ts';

export const anchorTurns: readonly MigrationStep[] = [
  `
-- looked_at: when the latest look began. put_off_at: when a look was put off the last time, because the host is held or the tenant is
-- suspended; null once one has begun.
ALTER TABLE anchors
  ADD COLUMN looked_at timestamptz(3),
  ADD COLUMN put_off_at timestamptz(3);
`,
  // Ended ones too: their looks count for the domain's pace.
  { index: 'anchors_by_domain', on: 'anchors (tenant_id, value, looked_at)' },
  { index: 'anchors_live_by_tenant', on: `anchors (tenant_id) WHERE status IN ('pending', 'verified')` },
];

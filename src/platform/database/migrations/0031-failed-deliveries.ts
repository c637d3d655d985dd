// What has failed in a day is read at the same cost however much failed before.
import type { MigrationStep } from '../migration-steps.ts';

export const failedDeliveries: readonly MigrationStep[] = [
  // Only a delivery that fails for good writes to it.
  { index: 'deliveries_failed', on: `deliveries (tenant_id, completed_at) WHERE status = 'failed'` },
  { index: 'delivery_hours_failed', on: 'delivery_hours (tenant_id, subscription_id) WHERE failed > 0' },
];

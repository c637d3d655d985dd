// The standing reads the failed deliveries of a day; older failures do not make it slower.
import type { MigrationStep } from '../migration-steps.ts';

export const failedDeliveries: readonly MigrationStep[] = [
  // Only a delivery that fails for good writes to it.
  { index: 'deliveries_failed', on: `deliveries (tenant_id, completed_at) WHERE status = 'failed'` },
  { index: 'delivery_hours_failed', on: 'delivery_hours (tenant_id, subscription_id) WHERE failed > 0' },
];

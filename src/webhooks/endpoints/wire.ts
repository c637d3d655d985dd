// Wires endpoints: their health, the holds of hosts, and in a worker the recovery of endpoints.
import type { Needs, Platform } from '../../platform/platform.ts';
import { createEndpointService } from './endpoint.service.ts';
import { createEndpointHealthStore } from './endpoint-health.store.ts';
import { createEndpointRecoveryService } from './endpoint-recovery.service.ts';
import { createHostHoldService } from './host-hold.service.ts';
import { RECOVERY_SETTINGS, type RecoverySettings } from './recovery-settings.ts';

/** @param recovery shorter delays in tests */
export function wireEndpoints(
  { notifier }: Platform,
  rooms: Needs<typeof createEndpointService, 'health' | 'notifier'>,
  recovery: RecoverySettings = RECOVERY_SETTINGS,
) {
  return {
    endpoints: createEndpointService({ ...rooms, notifier, health: createEndpointHealthStore(recovery) }),
    hostHolds: createHostHoldService({ ...rooms, notifier }),
  };
}

/** Wires the recovery of failing endpoints in a worker. */
export function wireEndpointRecovery(
  { database, notifier }: Platform,
  rooms: Needs<typeof createEndpointRecoveryService, 'database' | 'notifier'>,
) {
  return createEndpointRecoveryService({ ...rooms, database, notifier });
}

export { listExpectedWorkflows as listFailingEndpoints } from './endpoint-recovery.store.ts';

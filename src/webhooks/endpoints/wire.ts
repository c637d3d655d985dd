// Wires the delivery state of subscriptions: their health, the holds of hosts, and the recovery of an endpoint in a
// worker.
import type { Needs, Platform } from '../../platform/platform.ts';
import { createEndpointService } from './endpoint.service.ts';
import { createEndpointHealthStore } from './endpoint-health.store.ts';
import { createEndpointRecoveryService } from './endpoint-recovery.service.ts';
import { createHostHoldService } from './host-hold.service.ts';
import { RECOVERY_SETTINGS, type RecoverySettings } from './recovery-settings.ts';

/** @param recovery shorter in tests */
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

/** The recovery of an endpoint that fails, step by step. */
export function wireEndpointRecovery(
  { database, notifier }: Platform,
  rooms: Needs<typeof createEndpointRecoveryService, 'database' | 'notifier'>,
) {
  return createEndpointRecoveryService({ ...rooms, database, notifier });
}

/** The endpoints that have a workflow. */
export { listExpectedWorkflows as listFailingEndpoints } from './endpoint-recovery.store.ts';

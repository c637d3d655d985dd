// Wires endpoints: their health, and the holds of hosts.
import type { Platform } from '../../platform/opening/platform.ts';
import { type EndpointNeeds, EndpointService } from './endpoint.service.ts';
import { createEndpointHealthStore } from './endpoint-health.store.ts';
import { HostHoldService } from './host-hold.service.ts';
import { RECOVERY_SETTINGS, type RecoverySettings } from './recovery-settings.ts';

/** @param recovery shorter delays in tests */
export function wireEndpoints(
  { notifier }: Platform,
  { commands }: Pick<EndpointNeeds, 'commands'>,
  recovery: RecoverySettings = RECOVERY_SETTINGS,
) {
  return {
    endpoints: new EndpointService({ commands, notifier, health: createEndpointHealthStore(recovery) }),
    hostHolds: new HostHoldService({ commands, notifier }),
  };
}

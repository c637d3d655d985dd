// Wires what operators do across tenants, and its record.
import type { Needs, Platform } from '../../platform/platform.ts';
import { createHostService } from './host.service.ts';
import { createOperatorActService } from './operator-act.service.ts';
import { createSuspensionService } from './suspension.service.ts';

/** The record of what operators do. */
export function wireOperatorActs(
  { database }: Platform,
  rooms: Needs<typeof createOperatorActService, 'database'>,
) {
  return createOperatorActService({ ...rooms, database });
}

export function wireOperators(
  { database }: Platform,
  {
    hostHolds,
    ...rooms
  }: Needs<typeof createSuspensionService, 'database'> & {
    hostHolds: Parameters<typeof createHostService>[0]['hosts'];
  },
) {
  return {
    suspensions: createSuspensionService({ ...rooms, database }),
    hosts: createHostService({ ...rooms, database, hosts: hostHolds }),
  };
}

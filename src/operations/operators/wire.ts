// Wires the operator acts and their log.
import type { Needs, Platform } from '../../platform/platform.ts';
import { createHostService } from './host.service.ts';
import { createOperatorActService } from './operator-act.service.ts';
import { createSuspensionService } from './suspension.service.ts';

/** Wires the log of operator acts. */
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

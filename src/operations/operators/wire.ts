// Wires the operator acts and their log.
import type { Needs, Platform } from '../../platform/platform.ts';
import { createHostService } from './host.service.ts';
import { createOperatedDeliveryService } from './operated-delivery.service.ts';
import { createOperatorActService } from './operator-act.service.ts';
import * as actStore from './operator-act.store.ts';
import { createSuspensionService } from './suspension.service.ts';

/** Wires the log of operator acts. */
export function wireOperatorActs(
  { database }: Platform,
  rooms: Needs<typeof createOperatorActService, 'database'>,
) {
  return createOperatorActService({ ...rooms, database });
}

/** Wires the list of the newest acts alone, for a command that changes nothing. */
export function wireActList({ database }: Pick<Platform, 'database'>) {
  return { list: (limit: number) => actStore.list(database, limit) };
}

/** Wires the acts on one delivery. */
export function wireOperatedDeliveries(
  { config, database }: Platform,
  rooms: Needs<typeof createOperatedDeliveryService, 'database'>,
) {
  return {
    operatedDeliveries: createOperatedDeliveryService({ ...rooms, database }),
    workflows: config.temporal,
  };
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

// Wires deliveries: their routes, and in a worker their attempts and their expiry.
import { createGuardedAgent } from '../../platform/egress/guarded-agent.client.ts';
import type { Needs, Platform } from '../../platform/platform.ts';
import { createEndpointOccupancy } from '../endpoints/endpoint-occupancy.ts';
import { createAttemptMetrics } from './attempt.metrics.ts';
import { createAttemptService } from './attempt.service.ts';
import { createAttemptMonitor } from './attempt-monitor.service.ts';
import { createAttemptRecordService } from './attempt-record.service.ts';
import { createDeliverySender } from './delivery.client.ts';
import { createDeliveryRoutes } from './delivery.routes.ts';
import { createDeliveryService } from './delivery.service.ts';
import { createDeliveryExpiryService } from './delivery-expiry.service.ts';
import * as expiryStore from './delivery-expiry.store.ts';

export function wireDeliveries(
  { config, database, notifier }: Platform,
  rooms: Needs<typeof createDeliveryService, 'database' | 'notifier'>,
) {
  const deliveries = createDeliveryService({ ...rooms, database, notifier });
  return { deliveries, routes: createDeliveryRoutes({ deliveries, workflows: config.temporal }) };
}

/** Wires the attempts of a worker. `monitor` and `occupancy` report them to the relay of this process. */
export function wireAttempts(
  { config, database, log, notifier, registry, tracing }: Platform,
  rooms: Needs<typeof createAttemptRecordService, 'database' | 'metrics' | 'notifier' | 'store'> &
    Pick<Parameters<typeof createAttemptService>[0], 'sealing' | 'securityEvents' | 'deliveryKeys'>,
) {
  const agent = createGuardedAgent({
    allowedNetworks: config.webhookAllowedNetworks,
    internalNames: config.webhookInternalNames,
    caFile: config.webhookCaFile,
    insecureReceivers: config.insecureReceivers,
  });
  const metrics = createAttemptMetrics({ registry });
  const monitor = createAttemptMonitor();
  const occupancy = createEndpointOccupancy();
  const attemptRecords = createAttemptRecordService({ ...rooms, database, notifier, metrics });
  const attempts = createAttemptService({
    ...rooms,
    database,
    sender: createDeliverySender({ agent, tracing }),
    attemptRecords,
    monitor,
    occupancy,
    notifier,
    metrics,
    log,
  });
  return { attempts, attemptRecords, monitor, occupancy, close: () => agent.close() };
}

export function wireDeliveryExpiry(
  { database, notifier }: Platform,
  rooms: Needs<typeof createDeliveryExpiryService, 'database' | 'onWork'>,
) {
  return createDeliveryExpiryService({ ...rooms, database, onWork: notifier.poke });
}

type Queryable = Parameters<typeof expiryStore.purgeWork>[0];

export const purgesOfDeliveries = ({ keptDays }: { keptDays: number }) => ({
  'work of old deliveries': (queryable: Queryable, limit: number) =>
    expiryStore.purgeWork(queryable, keptDays, limit),
  'rows without a partition': (queryable: Queryable, limit: number) =>
    expiryStore.purgeSpare(queryable, keptDays, limit),
});

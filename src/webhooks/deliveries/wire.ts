// Wires the attempts of deliveries.
import { createGuardedAgent } from '../../platform/egress/guarded-agent.client.ts';
import type { Platform } from '../../platform/opening/platform.ts';
import { createEndpointOccupancy } from '../endpoints/endpoint-occupancy.ts';
import { createAttemptMetrics } from './attempt.metrics.ts';
import { type AttemptNeeds, AttemptService } from './attempt.service.ts';
import { AttemptMonitor } from './attempt-monitor.service.ts';
import { type AttemptRecordNeeds, AttemptRecordService } from './attempt-record.service.ts';
import { createDeliverySender } from './delivery.client.ts';

/** Wires the attempts of a worker. `monitor` and `occupancy` report them to the relay of this process. */
export function wireAttempts(
  { config, database, log, notifier, registry, objectives, tracing }: Platform,
  rooms: Pick<AttemptRecordNeeds, 'records' | 'endpoints' | 'subscriptions'> &
    Pick<AttemptNeeds, 'sealing' | 'securityEvents' | 'deliveryKeys'>,
) {
  const agent = createGuardedAgent({
    allowedNetworks: config.webhookAllowedNetworks,
    internalNames: config.webhookInternalNames,
    caFile: config.webhookCaFile,
    insecureReceivers: config.insecureReceivers,
  });
  const metrics = createAttemptMetrics({ registry, objectives });
  const monitor = new AttemptMonitor();
  const occupancy = createEndpointOccupancy();
  const attemptRecords = new AttemptRecordService({ ...rooms, database, notifier, metrics });
  const attempts = new AttemptService({
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
  return { attempts, attemptRecords, monitor, occupancy, closeAttempts: () => agent.close() };
}

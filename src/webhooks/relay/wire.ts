// Wires the relay, and what finds and mends stuck deliveries.
import type { Client } from '@temporalio/client';
import { newId } from '../../platform/database/ids.ts';
import { reasonOf } from '../../platform/logging.ts';
import type { Platform } from '../../platform/opening/platform.ts';
import { probeTemporal } from '../../platform/temporal/client.ts';
import { TASK_QUEUES } from '../../platform/temporal/names.ts';
import { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import { restart } from '../rows/delivery-row.store.ts';
import * as inspectionStore from './delivery-inspection.store.ts';
import { DeliveryStarter, type DeliveryStarterNeeds } from './delivery-workflow.client.ts';
import { type FirstAttemptNeeds, FirstAttemptService } from './first-attempt.service.ts';
import { type RelayNeeds, RelayService } from './relay.service.ts';
import type { MendTools } from './stuck-delivery.service.ts';
import { TemporalSilence } from './temporal-silence.service.ts';

/** Wires the relay of a worker. @param rooms.client starts workflows */
export function wireRelay(
  { config, database, log, notifier, tracing }: Platform,
  {
    client,
    presenter,
    countWaiting,
    ...rooms
  }: Pick<DeliveryStarterNeeds, 'presenter'> &
    Pick<RelayNeeds, 'monitor' | 'occupancy' | 'endpoints'> &
    FirstAttemptNeeds & { client: Client; countWaiting: () => Promise<number> },
) {
  const onFailure = (error: unknown) =>
    log.warn({ event: 'relay.failed', reason: reasonOf(error) }, 'the relay waits and tries again');
  const eager = config.workerBuildId === undefined;
  const starter = new DeliveryStarter({ client, taskQueues: TASK_QUEUES, eager, presenter });
  return {
    starter,
    relay: new RelayService({
      ...rooms,
      database,
      starter,
      firstAttempts: new FirstAttemptService({ ...rooms, tracing }),
      listen: notifier.listen,
      onFailure,
      tracing,
    }),
    silence: new TemporalSilence({
      probe: () => probeTemporal(client),
      countWaiting,
      onSilence: ({ since, deliveries }) =>
        log.warn(
          { event: 'temporal.silent', since, deliveries },
          `Temporal has answered nothing since ${since}, ${deliveries ?? 'unknown'} deliveries wait`,
        ),
      onAnswer: () => log.info({ event: 'temporal.answered' }, 'Temporal answers again'),
    }),
    mendTools: createMendTools({ database, starter }),
  };
}

export function wireRelayInspection({ database }: Platform, { client }: { client: Client }) {
  return {
    store: inspectionStore,
    mendTools: createMendTools({
      database,
      starter: new DeliveryStarter({ client, taskQueues: TASK_QUEUES }),
    }),
    restart: ({ id, generation }: { id: string; generation: number }) =>
      restart(database, { deliveryId: id, generation, outboxId: newId() }),
  };
}

const createMendTools = (own: Pick<MendTools, 'database' | 'starter'>): MendTools => ({
  ...own,
  commands: new WorkflowCommandService(),
  lateSeconds: 120,
});

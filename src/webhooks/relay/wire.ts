// Wires the relay, the sweep, and their inspection by the doctor.
import type { Client } from '@temporalio/client';
import { newId } from '../../platform/database/ids.ts';
import { reasonOf } from '../../platform/logging.ts';
import type { Platform } from '../../platform/platform.ts';
import { probeTemporal } from '../../platform/temporal/client.ts';
import { TASK_QUEUES } from '../../platform/temporal/names.ts';
import { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import { restart } from '../rows/delivery-row.store.ts';
import * as inspectionStore from './delivery-inspection.store.ts';
import { DeliveryStarter, type DeliveryStarterNeeds } from './delivery-workflow.client.ts';
import { type FirstAttemptNeeds, FirstAttemptService } from './first-attempt.service.ts';
import { type RelayNeeds, RelayService } from './relay.service.ts';
import { SweepService } from './sweep.service.ts';
import { TemporalSilence } from './temporal-silence.service.ts';

/** Wires the relay and the sweep of a worker. @param rooms.client starts workflows */
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
    sweep: new SweepService({
      database,
      commands: new WorkflowCommandService(),
      starter,
      onSwept: (report) => log.info({ event: 'sweep.mended', ...report }, 'the sweep mended something'),
      onFailure: onSweepFailure(log),
    }),
  };
}

export function wireRelayInspection({ database, log }: Platform, { client }: { client: Client }) {
  return {
    store: inspectionStore,
    sweep: new SweepService({
      database,
      commands: new WorkflowCommandService(),
      starter: new DeliveryStarter({ client, taskQueues: TASK_QUEUES }),
      onFailure: onSweepFailure(log),
    }),
    restart: ({ id, generation }: { id: string; generation: number }) =>
      restart(database, { deliveryId: id, generation, outboxId: newId() }),
  };
}

const onSweepFailure = (log: Platform['log']) => (error: unknown) =>
  log.warn({ event: 'sweep.failed', reason: reasonOf(error) }, 'a part of the sweep failed');

// The worker role: workflows, attempts, the relay and the sweep of one process, from start to ordered stop.
import { once } from 'node:events';
import { register } from 'prom-client';
import { createActivities } from '../activities/index.ts';
import { composeCore } from './compose.ts';
import type { Config } from './config.ts';
import { createOperationsServer } from './http/operations-server.ts';
import { announceReady, onStop } from './local/part-protocol.ts';
import { createLogger } from './logging.ts';
import { connectNatively, createTemporalClient, probeTemporal } from './temporal/client.ts';
import { TASK_QUEUES } from './temporal/names.ts';
import { createDeliveryWorker, installTemporalRuntime } from './temporal/worker.ts';
import { createAttemptMonitor } from './webhooks/deliveries/attempt.monitor.ts';
import { createAttemptService } from './webhooks/deliveries/attempt.service.ts';
import { createAttemptStore } from './webhooks/deliveries/attempt.store.ts';
import { createAttemptRecordService } from './webhooks/deliveries/attempt-record.service.ts';
import { createDeliverySender } from './webhooks/deliveries/delivery.sender.ts';
import { createGuardedAgent } from './webhooks/egress/guarded.agent.ts';
import { createDeliveryStarter } from './webhooks/relay/delivery.starter.ts';
import { createOutboxListener } from './webhooks/relay/outbox.listener.ts';
import { createRelayService } from './webhooks/relay/relay.service.ts';
import { createRelayStore } from './webhooks/relay/relay.store.ts';
import { createSweepService } from './webhooks/relay/sweep.service.ts';
import { createSweepStore } from './webhooks/relay/sweep.store.ts';

/** Runs until it is told to stop, then lets attempts under way finish. */
export async function runWorker(config: Config): Promise<void> {
  const logger = createLogger(config).child({ role: 'worker' });
  const core = composeCore(config, { logger, name: 'worker' });
  const { database, events, subscriptions, sealing, lanes, url } = core;
  const ending = new AbortController();
  const steps: (() => unknown)[] = [];
  // In order: not ready, nothing new, what is under way, what it needs.
  onStop(async () => {
    ending.abort();
    for (const step of steps) await step();
    await core.close();
  });

  installTemporalRuntime(({ level, message, meta }) =>
    logger[level === 'ERROR' ? 'error' : 'warn']({ temporal: meta }, message),
  );
  const connection = await connectNatively(config.temporal, {
    signal: ending.signal,
    onFailure: () => logger.warn('Temporal does not answer; trying again'),
  });
  const { namespace } = config.temporal;
  const client = createTemporalClient(connection, { namespace });

  const agent = createGuardedAgent({
    allowedNetworks: config.webhookAllowedNetworks,
    caFile: config.webhookCaFile,
    insecureReceivers: config.insecureReceivers,
  });
  const monitor = createAttemptMonitor();
  const store = createAttemptStore();
  const records = createAttemptRecordService({ database, store, events, subscriptions });
  const attempts = createAttemptService({
    database,
    store,
    sender: createDeliverySender({ agent }),
    sealing,
    records,
    monitor,
    onUnrecorded: (error) =>
      logger.warn({ err: error }, 'an attempt was made; its record waits for the database'),
  });
  const worker = await createDeliveryWorker({
    connection,
    namespace,
    taskQueues: TASK_QUEUES,
    activities: createActivities({ attempts, records }),
  });

  const onFailure = (error: unknown) =>
    logger.warn({ err: error }, 'the relay could not go on; trying again');
  const starter = createDeliveryStarter({ client, taskQueues: TASK_QUEUES });
  const relays = createRelayStore();
  const relay = createRelayService({
    database,
    store: relays,
    starter,
    monitor,
    lanes,
    listen: (onWork) => createOutboxListener({ url, onWork, onError: onFailure }),
    onFailure,
  });
  const sweep = createSweepService({
    database,
    store: createSweepStore(),
    relays,
    starter,
    onSwept: (report) => logger.info(report, 'the sweep mended something'),
    onFailure,
  });

  const operations = createOperationsServer({
    readiness: async () => {
      const [temporal, ping] = await Promise.allSettled([
        probeTemporal(connection, config.temporal),
        database.query('SELECT 1'),
      ]);
      const connected = temporal.status === 'fulfilled' && temporal.value;
      return {
        ready: connected && ping.status === 'fulfilled' && !ending.signal.aborted,
        database: ping.status === 'fulfilled' ? 'ok' : 'unavailable',
        temporal: connected ? 'ok' : 'unavailable',
      };
    },
    metrics: () => register.metrics(),
  });
  if (config.metricsPort !== 0) {
    operations.listen(config.metricsPort, '127.0.0.1');
    await once(operations, 'listening');
  }

  const running = worker.run();
  const relaying = await relay.start();
  const sweeping = sweep.start();
  steps.push(
    () => relaying.stop(),
    () => sweeping.stop(),
    () => worker.shutdown(),
    () => running,
    () => Promise.allSettled([agent.close(), connection.close()]),
    () => operations.close(),
  );
  logger.info('the worker is ready');
  announceReady();
  // A worker that fails ends the process: whoever supervises it starts another.
  await running;
}

// The delivery engine wired for real: Postgres, Temporal, a receiver on loopback, and as many worker processes' worth
// of relays and workers as a test wants. Only what a test replaces on purpose is a fake.

import { randomUUID } from 'node:crypto';
import { temporal } from '@temporalio/proto';
import { NativeConnection } from '@temporalio/worker';
import { inject } from 'vitest';
import { createBulkReplayActivities } from '../../activities/bulk-replay.ts';
import { createEndpointRecoveryActivities } from '../../activities/endpoint-recovery.ts';
import { createWebhookDeliveryActivities } from '../../activities/webhook-delivery.ts';
import { createWebhookSecretRotationActivities } from '../../activities/webhook-secret-rotation.ts';
import { listInvariants } from '../../src/app/wiring/invariants.ts';
import { SweepService } from '../../src/operations/invariants/sweep.service.ts';
import type { RequestContext } from '../../src/platform/context.ts';
import { createOutboxListener } from '../../src/platform/database/listener.client.ts';
import { createOutboxNotifier } from '../../src/platform/database/notifier.client.ts';
import { createGuardedAgent } from '../../src/platform/egress/guarded-agent.client.ts';
import { createTemporalClient } from '../../src/platform/temporal/client.ts';
import { createEntityStarter } from '../../src/platform/temporal/entity.client.ts';
import {
  deliveryWorkflowId,
  type EntityWorkflow,
  entityWorkflowId,
  type TaskQueues,
} from '../../src/platform/temporal/names.ts';
import { createDeliveryWorker } from '../../src/platform/temporal/worker.ts';
import type { WorkerVersion } from '../../src/platform/temporal/worker-version.ts';
import { createWorkflowCommandRunner } from '../../src/platform/temporal/workflow-command.client.ts';
import { AttemptService } from '../../src/webhooks/deliveries/attempt.service.ts';
import * as attemptStore from '../../src/webhooks/deliveries/attempt.store.ts';
import { AttemptMonitor } from '../../src/webhooks/deliveries/attempt-monitor.service.ts';
import { AttemptRecordService } from '../../src/webhooks/deliveries/attempt-record.service.ts';
import { createDeliverySender } from '../../src/webhooks/deliveries/delivery.client.ts';
import type { EndpointService } from '../../src/webhooks/endpoints/endpoint.service.ts';
import { createEndpointOccupancy } from '../../src/webhooks/endpoints/endpoint-occupancy.ts';
import { RECOVERY_SETTINGS, type RecoverySettings } from '../../src/webhooks/endpoints/recovery-settings.ts';
import { DeliveryStarter } from '../../src/webhooks/relay/delivery-workflow.client.ts';
import { FirstAttemptService } from '../../src/webhooks/relay/first-attempt.service.ts';
import { RELAY_SETTINGS, RelayService, type RelaySettings } from '../../src/webhooks/relay/relay.service.ts';
import * as relayStore from '../../src/webhooks/relay/relay.store.ts';
import { createTestDatabase } from '../setup/database.ts';
import { countLockWaits } from '../setup/lock-waits.ts';
import { installTestRuntime } from '../setup/temporal-runtime.ts';
import { workflowBundle } from '../setup/workflow-bundle.ts';
import { createTenantContext } from '../webhooks/intake/fixture.ts';
import {
  createQuiet,
  createTurnstile,
  createWatchedStore,
  PATIENT_LEASE,
  type WatchedRelay,
} from './calm.ts';
import { createEndReader, type DeliveryRow } from './delivery-ends.ts';
import { wireServices } from './engine-services.ts';
import { eventually } from './eventually.ts';
import { type ScriptedReceiver, startScriptedReceiver } from './scripted-receiver.ts';
import { shortenWaits } from './short-waits.ts';

/** What the stores of attempts are asked, for those that fail on purpose. */
export type AttemptStore = typeof attemptStore;

export type EngineOptions = {
  /** A build of the workers, on a connection of its own. */
  version?: WorkerVersion;
  /** Comes between workflows and what they call, in this process. */
  wrap?: (activities: EngineActivities) => EngineActivities;
  store?: (store: AttemptStore) => AttemptStore;
  endpoints?: Partial<Pick<EndpointService, 'noteFailures' | 'noteSuccess'>>;
  /** Milliseconds that an attempt waits for a place of its endpoint. */
  placeWait?: number;
  /** Early retries of an endpoint with workflows of their own; more are a crowd. */
  few?: number;
};
export type EngineActivities = ReturnType<typeof createWebhookDeliveryActivities> &
  ReturnType<typeof createEndpointRecoveryActivities>;

/** What an engine has around it. */
export type EngineSurroundings = {
  recovery?: RecoverySettings;
  egress?: Parameters<typeof createGuardedAgent>[0];
  /** Instead of the 15 s of an attempt. */
  sendTimeoutMs?: number;
  /** A Temporal server other than the run's. */
  temporal?: { address: string; namespace: string };
  /** Gets the database before anything connects to it. */
  prepare?: (url: string) => Promise<void>;
  /** The search path of all connections. */
  schemas?: string;
  /** Comes between workflows and what they call. */
  wrap?: (activities: EngineActivities) => EngineActivities;
};

/** Before anything else of Temporal is used in this process. */
export function installRuntimeOnce(): void {
  installTestRuntime();
}

/** @returns a database, a tenant and a receiver of the test's own, and `startProcess` for relay, worker and sweep */
export async function createEngine({
  recovery = RECOVERY_SETTINGS,
  egress = {},
  sendTimeoutMs,
  temporal: server = { address: inject('temporalAddress'), namespace: inject('temporalNamespace') },
  prepare = async () => undefined,
  schemas,
  wrap = (same) => same,
}: EngineSurroundings = {}) {
  installRuntimeOnce();
  const { database, url, drop } = await createTestDatabase(schemas);
  await prepare(url);
  const receiver = await startScriptedReceiver();
  const connection = await NativeConnection.connect({ address: server.address });
  const { namespace } = server;
  const client = createTemporalClient(connection, { namespace });
  const queue = `test-${randomUUID()}`;
  const taskQueues: TaskQueues = { main: queue, attempts: `${queue}-attempts`, slow: `${queue}-slow` };
  const agent = createGuardedAgent({ allowedNetworks: ['127.0.0.0/8'], ...egress });
  const notifier = createOutboxNotifier({ url });
  const context = await createTenantContext(database);
  const services = wireServices({ database, notifier, recovery, tenant: context.tenant });
  const bundle = await workflowBundle();
  const stops: (() => Promise<void>)[] = [];
  const failures: unknown[] = [];
  const relays = new Set<WatchedRelay>();
  const retries = createTurnstile();

  function createAttempts({ store: wrap, endpoints: replaced, placeWait = 10_000, few }: EngineOptions) {
    const monitor = new AttemptMonitor();
    const occupancy = createEndpointOccupancy();
    const store = (wrap ?? ((same) => same))(attemptStore);
    const { subscriptions, sealing } = services;
    const endpoints = { ...services.endpoints, ...replaced };
    const attemptRecords = new AttemptRecordService({
      database,
      store,
      records: services.records,
      endpoints,
      subscriptions,
      notifier,
      few,
    });
    const real = createDeliverySender({ agent });
    const sender: typeof real = {
      send: (attempt) => real.send({ ...attempt, timeoutMs: sendTimeoutMs ?? attempt.timeoutMs }),
    };
    const attempts = new AttemptService({
      database,
      store,
      sender,
      sealing,
      deliveryKeys: { prepare: async () => Promise.reject(new Error('has no keys')) },
      attemptRecords,
      monitor,
      occupancy,
      notifier,
      log: services.platform.log,
      placeWait,
    });
    return { monitor, occupancy, attempts, attemptRecords };
  }

  const starter = new DeliveryStarter({ client, taskQueues });
  const readEnd = createEndReader(database);

  async function startProcess(
    options: EngineOptions & {
      relay?: Partial<RelaySettings> | false;
      worker?: boolean;
      /** Instead of the workflows that there are. */
      workflows?: { code: string };
    } = {},
  ) {
    const { monitor, occupancy, attempts, attemptRecords } = createAttempts(options);
    const own =
      options.version === undefined ? undefined : await NativeConnection.connect({ address: server.address });
    const worker =
      options.worker === false
        ? undefined
        : await createDeliveryWorker({
            connection: own ?? connection,
            version: options.version,
            namespace,
            taskQueues,
            activities: {
              ...(options.wrap ?? wrap)(
                shortenWaits({
                  ...createWebhookDeliveryActivities({
                    attempts: {
                      send: async (...given) => {
                        await retries.pass();
                        return attempts.send(...given);
                      },
                    },
                    attemptRecords,
                    deliveries: services.deliveries,
                  }),
                  ...createEndpointRecoveryActivities({ recovery: services.recoveries }),
                }),
              ),
              ...createWebhookSecretRotationActivities(services),
              ...createBulkReplayActivities(services),
            },
            workflows: options.workflows ?? bundle,
          });
    const running = worker?.run();
    const { store, rounds, claims } = createWatchedStore(database);
    const relay = new RelayService({
      database,
      store,
      starter:
        own === undefined
          ? starter
          : new DeliveryStarter({
              client: createTemporalClient(own, { namespace }),
              taskQueues,
              eager: false,
            }),
      monitor,
      occupancy,
      endpoints: services.endpoints,
      firstAttempts: new FirstAttemptService({ attempts, attemptRecords }),
      listen: (onWork) => createOutboxListener({ url, onWork }),
      onFailure: (error) => failures.push(error),
      settings: { ...RELAY_SETTINGS, lease: PATIENT_LEASE, ...options.relay },
    });
    const started = options.relay === false ? undefined : await relay.start();
    const watched = { rounds, claims, poke: relay.poke };
    if (started !== undefined) relays.add(watched);
    const stop = async () => {
      relays.delete(watched);
      await started?.stop();
      worker?.shutdown();
      await running;
      await own?.close();
    };
    stops.push(stop);
    return { relay, claims, attempts, attemptRecords, stop };
  }

  return {
    database,
    url,
    context,
    receiver,
    client,
    connection,
    namespace,
    taskQueues,
    starter,
    relayStore,
    notifier,
    failures,
    ...services,
    createAttempts: (options: EngineOptions = {}) => createAttempts(options),
    /** Keeps the attempts of workflows from beginning. @returns how to let them begin */
    holdRetries: retries.close,
    /** Waits until some connection of this database waits for another's lock. */
    lockIsWaitedFor: () => eventually(async () => (await countLockWaits(database)) > 0, 'a wait for a lock'),
    /** Waits until nothing is under way and nothing will begin by itself before its time. */
    quiet: createQuiet({ database, client, relays }),
    startProcess,

    /** Tells the workflows of entities. @returns how to stop it */
    startRunner: (): (() => Promise<void>) => {
      const { signingSecrets, recoveries, bulkReplays } = services;
      const { stop } = createWorkflowCommandRunner({
        database,
        starter: createEntityStarter({ client, taskQueue: queue }),
        describe: {
          endpointRecovery: ({ tenantId, id }) => recoveries.describe({ tenantId, subscriptionId: id }),
          bulkReplay: bulkReplays.describe,
          webhookSecretRotation: ({ tenantId, id }) =>
            signingSecrets.describe({ tenantId, subscriptionId: id }),
        },
        onFailure: (error) => failures.push(error),
        poll: 50,
      }).start();
      stops.push(stop);
      return stop;
    },

    /** The workflow of an entity. */
    entity: (workflow: EntityWorkflow, id: string) =>
      client.workflow.getHandle(entityWorkflowId(workflow, id)),
    sweep: (lateMs = 0) =>
      new SweepService({
        database,
        invariants: listInvariants({ masterKeys: [] }),
        tools: { database, commands: services.commands, starter, lateSeconds: lateMs / 1_000 },
        onFailure: (error) => failures.push(error),
      }),

    /** A subscription whose retries come after the given milliseconds. */
    subscribe: async ({
      path = `/${randomUUID()}`,
      url = `${receiver.url}${path}`,
      delaysMs = [50, 50, 50],
      active = true,
      tenant = context,
      eventTypes = ['wallet.tx.signed'],
    }: {
      path?: string;
      url?: string;
      delaysMs?: number[];
      active?: boolean;
      tenant?: RequestContext | undefined;
      eventTypes?: string[];
    } = {}) => {
      const { subscription } = await services.subscriptions.create(tenant, {
        url,
        eventTypes,
        retryPolicy: { delaysMs },
        active,
      });
      return { id: subscription.id, path };
    },

    /** Publishes events for one subscription. @returns the ids of the deliveries, in order */
    publish: async (subscriptionId: string, count = 1, tenant: RequestContext = context) => {
      const emitted = await database.transaction({}, (unit) =>
        services.records.write(unit, tenant, {
          events: Array.from({ length: count }, (_, n) => ({
            type: 'wallet.tx.signed',
            data: { n },
            onlySubscription: subscriptionId,
          })),
        }),
      );
      return emitted.map(({ deliveryId }) => deliveryId ?? '');
    },

    delivery: async (id: string): Promise<DeliveryRow> => {
      const { rows } = await database.query<DeliveryRow>('SELECT * FROM deliveries WHERE id = $1', [id]);
      const [row] = rows;
      if (row === undefined) throw new Error(`no delivery ${id}`);
      return row;
    },

    /** Waits until the first attempt of a delivery has failed, and the workflow of its retries has begun. */
    failedOnce: (id: string) =>
      eventually(async () => {
        const { rows } = await database.query(
          'SELECT FROM deliveries WHERE id = $1 AND attempt_count >= 1 AND started_generation = generation',
          [id],
        );
        return rows.length === 1;
      }, `the first failure of ${id}`),

    /** Waits for the end of a delivery. */
    ended: (id: string, limit?: number): Promise<DeliveryRow> =>
      eventually(() => readEnd(id), `the end of ${id}`, limit),

    /** Types of the events in a workflow's history: `TimerStarted`. */
    historyOf: async (id: string, generation = 0): Promise<string[]> => {
      const { events = [] } = await client.workflow
        .getHandle(deliveryWorkflowId(id, generation))
        .fetchHistory();
      const names = temporal.api.enums.v1.EventType;
      return (events ?? []).map(({ eventType }) => names[Number(eventType)] ?? '').map(toPascal);
    },

    attempts: async (id: string) =>
      (
        await database.query<{ n: number; outcome: string; generation: number; started_at: Date }>(
          'SELECT n, outcome, generation, started_at FROM attempts WHERE delivery_id = $1 ORDER BY n',
          [id],
        )
      ).rows,
    outbox: async () =>
      (
        await database.query<{ kind: string; delivery_id: string; claimed_by: string | null }>(
          'SELECT * FROM outbox',
        )
      ).rows,
    workflow: (id: string, generation = 0) => client.workflow.getHandle(deliveryWorkflowId(id, generation)),
    close: async () => {
      for (const stop of stops) await stop().catch(() => undefined);
      await notifier.close();
      await connection.close();
      await agent.close?.();
      await receiver.close();
      await drop();
    },
  };
}

export type DeliveryEngine = Awaited<ReturnType<typeof createEngine>>;
export type { ScriptedReceiver };
export { eventually };

function toPascal(name: string): string {
  return name
    .replace('EVENT_TYPE_', '')
    .toLowerCase()
    .replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
}

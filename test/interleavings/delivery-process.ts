// A process that delivers: what a relay and a workflow's activity do, without Temporal and without a receiver. Its
// POSTs are noted.
import type { RequestContext } from '../../src/platform/context.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { newId } from '../../src/platform/database/ids.ts';
import type { Outcome } from '../../src/platform/egress/outcome.ts';
import { AttemptService } from '../../src/webhooks/deliveries/attempt.service.ts';
import { AttemptMonitor } from '../../src/webhooks/deliveries/attempt-monitor.service.ts';
import { AttemptRecordService } from '../../src/webhooks/deliveries/attempt-record.service.ts';
import { createEndpointOccupancy } from '../../src/webhooks/endpoints/endpoint-occupancy.ts';
import { refund } from '../../src/webhooks/endpoints/endpoint-permit.store.ts';
import { FirstAttemptService } from '../../src/webhooks/relay/first-attempt.service.ts';
import { HandOver } from '../../src/webhooks/relay/hand-over.service.ts';
import { RELAY_SETTINGS } from '../../src/webhooks/relay/relay.service.ts';
import * as relayStore from '../../src/webhooks/relay/relay.store.ts';
import { idsOf, Settlement } from '../../src/webhooks/relay/settlement.service.ts';
import { createSlots } from '../../src/webhooks/relay/slots.ts';
import { wireWebhookRooms } from '../webhooks/webhook-rooms.ts';

/** The answers of a receiver, and what was sent to it. */
export type Receiver = { readonly answers: Outcome[]; readonly posts: string[] };

export const DELIVERED: Outcome = { kind: 'delivered', statusCode: 204 };

const PHASES = { dns_ms: null, connect_ms: null, tls_ms: null, first_byte_ms: null, total_ms: 1 };

export type DeliveryProcess = ReturnType<typeof createDeliveryProcess>;

export function createDeliveryProcess(database: Database, receivers: ReadonlyMap<string, Receiver>) {
  const rooms = wireWebhookRooms(database);
  const notifier = { poke: () => undefined };
  const log = { warn: () => undefined };
  const monitor = new AttemptMonitor();
  const occupancy = createEndpointOccupancy();
  const attemptRecords = new AttemptRecordService({ ...rooms, database, notifier });
  const attempts = new AttemptService({
    database,
    sender: {
      send: async ({ url, deliveryId }) => {
        const receiver = receivers.get(new URL(url).host);
        if (receiver === undefined) throw new Error(`no receiver for ${url}`);
        receiver.posts.push(deliveryId);
        const outcome = receiver.answers.shift() ?? DELIVERED;
        const { statusCode } = outcome;
        const startedAt = new Date();
        return {
          ...{ startedAt, durationMs: 1, phases: PHASES, statusCode, outcome },
          ...{ retryAfterSeconds: null, responseExcerpt: null, remoteAddress: null },
        };
      },
    },
    sealing: rooms.sealing,
    deliveryKeys: { prepare: async () => Promise.reject(new Error('has no keys')) },
    attemptRecords,
    monitor,
    occupancy,
    notifier,
    log,
  });
  const firstAttempts = new FirstAttemptService({ attempts, attemptRecords });

  /** Claims all work of an endpoint that it gets, and hands it over. @returns the claimed deliveries */
  const relay = async (
    identity: relayStore.RelayIdentity,
    grant: { tenantId: string; endpoint: string },
    wait: () => Promise<void> = async () => undefined,
  ): Promise<string[]> => {
    const settlement = new Settlement({
      write: async ({ marked, unmarked, unused, released }) => {
        if (marked.length + unmarked.length > 0)
          await relayStore.complete(database, identity, marked, unmarked);
        if (released.length > 0) await relayStore.release(database, identity, idsOf(released));
        await refund(database, [...unused, ...released]);
      },
      // Whatever is settled later is written by `drain`.
      delayMs: 60_000,
    });
    const failures: unknown[] = [];
    const handOver = new HandOver({
      database,
      starter: { start: async () => 'started', signal: async () => true },
      slots: createSlots(RELAY_SETTINGS.slots, occupancy),
      settlement: { ...settlement, removed: () => undefined },
      firstAttempts,
      isAlive: () => true,
      onFailure: (error) => failures.push(error),
    });
    const claimed = await relayStore.claim(database, identity, [
      { ...grant, quota: 4, retries: 0, late: false },
    ]);
    await wait();
    for (const work of claimed) handOver.begin(work, false);
    while (handOver.pending() > 0) await new Promise((resolve) => setTimeout(resolve, 1));
    await handOver.stop();
    await settlement.drain();
    if (failures.length > 0) throw failures[0];
    return claimed.map(({ deliveryId }) => deliveryId);
  };

  return {
    ...rooms,
    database,
    attempts,
    firstAttempts,
    relay,
    register: () => relayStore.register(database, newId(), 'worker'),
    takeOver: () => relayStore.takeOver(database),
    publish: async (context: RequestContext, subscription: string, count: number): Promise<string[]> => {
      const emitted = await database.transaction({}, (unit) =>
        rooms.records.write(unit, context, {
          events: Array.from({ length: count }, (_, n) => ({
            type: 'wallet.tx.signed',
            data: { n },
            onlySubscription: subscription,
          })),
        }),
      );
      return emitted.map(({ deliveryId }) => deliveryId ?? '');
    },
  };
}

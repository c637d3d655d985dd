// The relay claims rows of the outbox fairly, as far as there are free slots, and hands them over. All its state in
// memory can be read again from the outbox.

import { setTimeout as sleep } from 'node:timers/promises';
import { NIL } from 'uuid';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import { createLoop } from '../../platform/process/loop.ts';
import type { Tracing } from '../../platform/tracing/tracing.ts';
import type { AttemptMonitor } from '../deliveries/attempt-monitor.service.ts';
import type { EndpointService } from '../endpoints/endpoint.service.ts';
import type { EndpointOccupancy } from '../endpoints/endpoint-occupancy.ts';
import { createEndpointSpeeds, speedOf } from '../endpoints/endpoint-speed.ts';
import { allocate, type ReadyEndpoint, type Share, START_OF_ROTATION, tokenWait } from './allocation.ts';
import type { DeliveryStarter } from './delivery-workflow.client.ts';
import type { FirstAttemptService } from './first-attempt.service.ts';
import { createHandOver } from './hand-over.service.ts';
import type { Work } from './relay.store.ts';
import * as relayStore from './relay.store.ts';
import { createRelayLease } from './relay-lease.service.ts';
import { createSettlement, idsOf } from './settlement.service.ts';
import type { Speed } from './slot-room.ts';
import { createSlots, type SlotLimits } from './slots.ts';

/** Times are in milliseconds. Counts are per process. */
export const RELAY_SETTINGS = {
  slots: {
    total: { fast: 256, unproven: 192, slow: 128 },
    tenant: { fast: 64, unproven: 48, slow: 32 },
  } satisfies SlotLimits as SlotLimits,
  quantum: 4,
  endpoints: 1_000,
  commands: 64,
  poll: 250,
  idlePoll: 1_000,
  /** The least time between two claims, so that a busy relay claims several rows with one statement. */
  gap: 5,
  leastWait: 20,
  beat: 1_000,
  /** Less than the time after which other relays take the claims of a silent one over. */
  lease: 4_000,
  /** The least milliseconds between two searches for commands. */
  commandGap: 100,
  /** Milliseconds between two comparisons of the claims with the work in hand. */
  audit: 10_000,
  /** The time without a report from an attempt after which the relay reads the row of its delivery. */
  progress: 500,
  /** The time after which a slot becomes free even if the row shows no end of the attempt. */
  slotLifetime: 60_000,
} as const;

export type RelaySettings = {
  readonly [Name in keyof typeof RELAY_SETTINGS]: Widened<(typeof RELAY_SETTINGS)[Name]>;
};
type Widened<T> = T extends number ? number : T;

const FIRST_ENDPOINT: { readonly tenantId: string; readonly endpoint: string } = {
  tenantId: NIL,
  endpoint: NIL,
};

/**
 * Makes the relay of a worker process.
 * @param options.firstAttempts makes first attempts in the relay
 * @param options.listen opens the listener for new work, and returns `close`
 * @param options.onFailure receives failures of Temporal or the database; the relay continues
 */
export function createRelayService({
  database,
  store = relayStore,
  starter,
  monitor,
  occupancy,
  endpoints,
  firstAttempts,
  listen,
  onFailure,
  tracing,
  settings = RELAY_SETTINGS,
}: {
  database: Pick<Database, 'query'>;
  store?: typeof relayStore | undefined;
  starter: Pick<DeliveryStarter, 'start' | 'signal'>;
  monitor: Pick<AttemptMonitor, 'listen'>;
  occupancy?: EndpointOccupancy | undefined;
  endpoints: Pick<EndpointService, 'saveSpeeds'>;
  firstAttempts: FirstAttemptService;
  listen: (onWork: () => void) => { close(): Promise<void> };
  onFailure: (error: unknown) => void;
  tracing?: Pick<Tracing, 'current' | 'span'> | undefined;
  settings?: RelaySettings | undefined;
}) {
  const slots = createSlots(settings.slots, occupancy);
  const speeds = createEndpointSpeeds();
  const { lease: lasts, audit } = settings;
  const lease = createRelayLease({ database, store, instance: newId(), role: 'worker', lasts, audit });
  const { inHand, identity } = lease;
  const settlement = createSettlement({
    write: async ({ marked, unmarked, unused, released }) => {
      if (marked.length + unmarked.length > 0) await store.complete(database, identity(), marked, unmarked);
      for (const { id } of [...marked, ...unmarked, ...released]) inHand.delete(id);
      // From here on this relay may claim the released rows again.
      if (released.length > 0) await store.release(database, identity(), idsOf(released));
      await store.refund(database, [...unused, ...released]);
    },
  });
  const handOver = createHandOver({
    database,
    starter,
    slots,
    settlement: { ...settlement, removed: ({ id }) => void inHand.delete(id) },
    firstAttempts,
    isAlive: lease.isAlive,
    onFailure,
    tracing,
  });
  let rotation = START_OF_ROTATION;
  let after = FIRST_ENDPOINT;
  // True when the latest claim did not reach the last endpoint with work. The next claim then follows without a wait.
  let endpointsLeft = false;
  let lastWork = Number.NEGATIVE_INFINITY;
  // Endpoints have more work than the latest claim has taken.
  let workLeft = false;
  // Milliseconds until an endpoint with work and a rate may begin another attempt, of the endpoints read in this round.
  let nextToken = Number.POSITIVE_INFINITY;

  /** Reads one page of endpoints with work. After the last page it starts again with the first. */
  const readEndpoints = async (): Promise<ReadyEndpoint[]> => {
    const page = await store.readyEndpoints(database, { after, limit: settings.endpoints });
    const last = page.at(-1);
    const more = page.length >= settings.endpoints && last !== undefined;
    after = more ? { tenantId: last.tenantId, endpoint: last.endpoint } : FIRST_ENDPOINT;
    endpointsLeft = more;
    return page.filter((endpoint) => endpoint.open);
  };

  const claimWork = async (kinds: 'all' | 'first'): Promise<number> => {
    workLeft = slots.isFull();
    if (workLeft) return 0;
    if (after === FIRST_ENDPOINT) nextToken = Number.POSITIVE_INFINITY;
    const open = await readEndpoints();
    nextToken = Math.min(nextToken, ...open.map(tokenWait));
    const ready = open.map((row) => ({ ...row, speed: speedOf(row, speeds.p90(row.endpoint)) }));
    const rooms = slots.rooms(ready, performance.now());
    const given = allocate({ ...rooms, quantum: settings.quantum, rotation, draw: Math.random() });
    rotation = given.rotation;
    workLeft = given.shares.length < open.length;
    if (given.shares.length === 0) return 0;
    const work = await store.claim(database, identity(), given.shares, { kinds });
    const measured = new Map(given.shares.map(({ endpoint, speed }) => [endpoint, speed]));
    for (const row of work) take(row, measured.get(row.endpoint) ?? 'unproven');
    const isLimited = ({ permits, tokens }: Share) => permits !== null || tokens !== null;
    // A limited endpoint whose row another attempt has locked gives nothing, and may have more when that attempt ends.
    workLeft ||= isAnyUsedUp(given.shares, work) || given.shares.some(isLimited);
    return work.length;
  };

  const take = (work: Work, speed: Speed): void => {
    slots.add({
      deliveryId: work.deliveryId,
      tenantId: work.tenantId,
      endpoint: work.endpoint,
      speed,
      attempts: work.attemptCount,
      since: performance.now(),
      placed: work.kind !== 'wake',
    });
    inHand.add(work.id);
    handOver.begin(work, speed === 'slow');
  };

  /** Claims commands. @returns milliseconds until the next search; 0 while there may be more */
  const claimCommands = async (): Promise<number> => {
    if (handOver.takes() !== 'all') return settings.poll;
    if (handOver.pending() > settings.slots.total.fast + settings.commands) return settings.poll;
    const commands = await store.claimCommands(database, identity(), settings.commands);
    for (const command of commands) {
      inHand.add(command.id);
      handOver.begin(command, false);
    }
    if (commands.length === settings.commands) return 0;
    // Included in the run, so that new work does not shorten it: most new work is no command.
    await sleep(settings.commandGap);
    return settings.idlePoll;
  };

  /** Claims once. @returns milliseconds until the next claim; 0 when there may be more work */
  const claim = async (): Promise<number> => {
    const begun = performance.now();
    let claimed = 0;
    endpointsLeft = false;
    try {
      const takes = handOver.takes();
      if (takes !== 'none') claimed = await claimWork(takes);
    } catch (error) {
      onFailure(error);
      // This wait is part of the run, so that a notification of new work does not shorten it.
      await sleep(settings.poll);
    }
    const now = performance.now();
    if (claimed > 0) lastWork = now;
    await sleep(Math.max(0, begun + settings.gap - now));
    if ((claimed > 0 && workLeft) || endpointsLeft) return 0;
    const poll = now - lastWork < 5_000 ? settings.poll : settings.idlePoll;
    return Math.min(poll, Math.max(settings.leastWait, nextToken));
  };

  /** Writes the beat, frees the claims of dead relays, and stores the changed speeds of endpoints. */
  const beat = async (): Promise<void> => {
    await lease.beat();
    if ((await store.takeOver(database)) > 0) poke();
    const changed = speeds.changed();
    if (changed.length > 0) await endpoints.saveSpeeds(database, changed);
    if ((await lease.auditClaims()) > 0) poke();
  };

  /** Frees slots of attempts that another process made, or that no process made. */
  const watchProgress = async (): Promise<void> => {
    const now = performance.now();
    const silent = slots.olderThan(now - settings.progress);
    try {
      const over = silent.length === 0 ? [] : await store.attempted(database, silent);
      for (const deliveryId of over) slots.remove(deliveryId);
      if (over.length > 0) poke();
    } finally {
      for (const flight of slots.olderThan(now - settings.slotLifetime)) slots.remove(flight.deliveryId);
    }
  };

  const claims = createLoop({ run: claim, next: (ms = 0) => ms, onFailure });
  const commands = createLoop({ run: claimCommands, next: (ms = settings.poll) => ms, onFailure });
  const beats = createLoop({ run: beat, next: settings.beat, onFailure });
  const progress = createLoop({ run: watchProgress, next: settings.progress, onFailure });
  const poke = (): void => {
    claims.wake();
    commands.wake();
  };

  return {
    poke,

    /**
     * Starts the relay; it claims nothing until the database answers.
     * @returns `stop`, which gives back the claims that are not handed over and resolves when no work is under way
     */
    start: async (): Promise<{ stop(): Promise<void> }> => {
      await lease.beat().catch(onFailure);
      const stopListening = monitor.listen({
        begun: (deliveryId) => slots.begin(deliveryId, performance.now()),
        ended: ({ deliveryId, subscriptionId, durationMs }) => {
          if (subscriptionId !== undefined && durationMs !== undefined)
            speeds.note(subscriptionId, durationMs);
          if (slots.remove(deliveryId) && workLeft) claims.wake();
        },
      });
      const listener = listen(poke);
      const loops = [claims, commands, beats, progress].map((loop) => loop.start());
      return {
        stop: async () => {
          await Promise.all(loops.map((loop) => loop.stop()));
          await handOver.stop();
          stopListening();
          await listener.close();
          // Results that cannot be written are lost. Other relays then take over these claims.
          await settlement.drain();
          await lease.leave().catch(onFailure);
        },
      };
    },
  };
}

/** Whether an endpoint had as much work as its share, so that it may have more. */
function isAnyUsedUp(shares: readonly Share[], work: readonly Work[]): boolean {
  const taken = new Map<string, number>();
  for (const { endpoint } of work) taken.set(endpoint, (taken.get(endpoint) ?? 0) + 1);
  return shares.some(({ endpoint, quota }) => (taken.get(endpoint) ?? 0) >= quota);
}

// The relay claims rows of the outbox fairly, as far as there are free slots, and hands them over. All its state in
// memory can be read again from the outbox.

import { setTimeout as sleep } from 'node:timers/promises';
import { NIL } from 'uuid';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import { createLoop } from '../../platform/process/loop.ts';
import { Service } from '../../platform/service.ts';
import type { Tracing } from '../../platform/tracing/tracing.ts';
import type { AttemptMonitor } from '../deliveries/attempt-monitor.service.ts';
import type { EndpointService } from '../endpoints/endpoint.service.ts';
import type { EndpointOccupancy } from '../endpoints/endpoint-occupancy.ts';
import { refund } from '../endpoints/endpoint-permit.store.ts';
import { createEndpointSpeeds, speedOf } from '../endpoints/endpoint-speed.ts';
import { allocate, type ReadyEndpoint, type Share, START_OF_ROTATION, tokenWait } from './allocation.ts';
import type { DeliveryStarter } from './delivery-workflow.client.ts';
import type { FirstAttemptService } from './first-attempt.service.ts';
import { HandOver } from './hand-over.service.ts';
import type { Work } from './relay.store.ts';
import * as relayStore from './relay.store.ts';
import { RelayLease } from './relay-lease.service.ts';
import { idsOf, Settlement } from './settlement.service.ts';
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

export type RelayNeeds = {
  database: Pick<Database, 'query'>;
  store?: typeof relayStore | undefined;
  starter: Pick<DeliveryStarter, 'start' | 'signal'>;
  monitor: Pick<AttemptMonitor, 'listen'>;
  occupancy?: EndpointOccupancy | undefined;
  endpoints: Pick<EndpointService, 'saveSpeeds'>;
  /** Makes first attempts in the relay. */
  firstAttempts: Pick<FirstAttemptService, 'make'>;
  /** Opens the listener for new work, and returns `close`. */
  listen: (onWork: () => void) => { close(): Promise<void> };
  /** Receives failures of Temporal or the database; the relay continues. */
  onFailure: (error: unknown) => void;
  tracing?: Pick<Tracing, 'current' | 'span'> | undefined;
  settings?: RelaySettings | undefined;
};

/** Makes the relay of a worker process. */
export class RelayService extends Service<RelayNeeds> {
  readonly #store = this.needs.store ?? relayStore;
  readonly #settings = this.needs.settings ?? RELAY_SETTINGS;
  readonly #slots = createSlots(this.#settings.slots, this.needs.occupancy);
  readonly #speeds = createEndpointSpeeds();
  readonly #lease = new RelayLease({
    database: this.needs.database,
    store: this.#store,
    instance: newId(),
    role: 'worker',
    lasts: this.#settings.lease,
    audit: this.#settings.audit,
  });
  readonly #settlement = new Settlement({
    write: async ({ marked, unmarked, unused, released }) => {
      if (marked.length + unmarked.length > 0)
        await this.#store.complete(this.needs.database, this.#lease.identity(), marked, unmarked);
      for (const { id } of [...marked, ...unmarked, ...released]) this.#lease.inHand.delete(id);
      // From here on this relay may claim the released rows again.
      if (released.length > 0)
        await this.#store.release(this.needs.database, this.#lease.identity(), idsOf(released));
      await refund(this.needs.database, [...unused, ...released]);
    },
  });
  readonly #handOver = new HandOver({
    database: this.needs.database,
    starter: this.needs.starter,
    slots: this.#slots,
    settlement: { ...this.#settlement, removed: ({ id }) => void this.#lease.inHand.delete(id) },
    firstAttempts: this.needs.firstAttempts,
    isAlive: this.#lease.isAlive,
    onFailure: this.needs.onFailure,
    tracing: this.needs.tracing,
  });
  #rotation = START_OF_ROTATION;
  #after = FIRST_ENDPOINT;
  // True when the latest claim did not reach the last endpoint with work. The next claim then follows without a wait.
  #endpointsLeft = false;
  #lastWork = Number.NEGATIVE_INFINITY;
  // Endpoints have more work than the latest claim has taken.
  #workLeft = false;
  // Milliseconds until an endpoint with work and a rate may begin another attempt, of the endpoints read in this round.
  #nextToken = Number.POSITIVE_INFINITY;
  readonly #claims = createLoop({
    run: () => this.#claim(),
    next: (ms = 0) => ms,
    onFailure: this.needs.onFailure,
  });
  readonly #commands = createLoop({
    run: () => this.#claimCommands(),
    next: (ms = this.#settings.poll) => ms,
    onFailure: this.needs.onFailure,
  });
  readonly #beats = createLoop({
    run: () => this.#beat(),
    next: this.#settings.beat,
    onFailure: this.needs.onFailure,
  });
  readonly #progress = createLoop({
    run: () => this.#watchProgress(),
    next: this.#settings.progress,
    onFailure: this.needs.onFailure,
  });

  /** Claims work now, without the wait for the next round. */
  poke = (): void => {
    this.#claims.wake();
    this.#commands.wake();
  };

  /**
   * Starts the relay; it claims nothing until the database answers.
   * @returns `stop`, which gives back the claims that are not handed over and resolves when no work is under way
   */
  start = async (): Promise<{ stop(): Promise<void> }> => {
    await this.#lease.beat().catch(this.needs.onFailure);
    const stopListening = this.needs.monitor.listen({
      begun: (deliveryId) => this.#slots.begin(deliveryId, performance.now()),
      ended: ({ deliveryId, subscriptionId, durationMs }) => {
        if (subscriptionId !== undefined && durationMs !== undefined)
          this.#speeds.note(subscriptionId, durationMs);
        if (this.#slots.remove(deliveryId) && this.#workLeft) this.#claims.wake();
      },
    });
    const listener = this.needs.listen(this.poke);
    const loops = [this.#claims, this.#commands, this.#beats, this.#progress].map((loop) => loop.start());
    return {
      stop: async () => {
        await Promise.all(loops.map((loop) => loop.stop()));
        await this.#handOver.stop();
        stopListening();
        await listener.close();
        // Results that cannot be written are lost. Other relays then take over these claims.
        await this.#settlement.drain();
        await this.#lease.leave().catch(this.needs.onFailure);
      },
    };
  };

  /** Reads one page of endpoints with work. After the last page it starts again with the first. */
  #readEndpoints = async (): Promise<ReadyEndpoint[]> => {
    const page = await this.#store.readyEndpoints(this.needs.database, {
      after: this.#after,
      limit: this.#settings.endpoints,
    });
    const last = page.at(-1);
    const more = page.length >= this.#settings.endpoints && last !== undefined;
    this.#after = more ? { tenantId: last.tenantId, endpoint: last.endpoint } : FIRST_ENDPOINT;
    this.#endpointsLeft = more;
    return page.filter((endpoint) => endpoint.open);
  };

  #claimWork = async (kinds: 'all' | 'first'): Promise<number> => {
    this.#workLeft = this.#slots.isFull();
    if (this.#workLeft) return 0;
    if (this.#after === FIRST_ENDPOINT) this.#nextToken = Number.POSITIVE_INFINITY;
    const open = await this.#readEndpoints();
    this.#nextToken = Math.min(this.#nextToken, ...open.map(tokenWait));
    const ready = open.map((row) => ({ ...row, speed: speedOf(row, this.#speeds.p90(row.endpoint)) }));
    const rooms = this.#slots.rooms(ready, performance.now());
    const given = allocate({
      ...rooms,
      quantum: this.#settings.quantum,
      rotation: this.#rotation,
      draw: Math.random(),
    });
    this.#rotation = given.rotation;
    this.#workLeft = given.shares.length < open.length;
    if (given.shares.length === 0) return 0;
    const work = await this.#store.claim(this.needs.database, this.#lease.identity(), given.shares, {
      kinds,
    });
    const measured = new Map(given.shares.map(({ endpoint, speed }) => [endpoint, speed]));
    for (const row of work) this.#take(row, measured.get(row.endpoint) ?? 'unproven');
    const isLimited = ({ permits, tokens }: Share) => permits !== null || tokens !== null;
    // A limited endpoint whose row another attempt has locked gives nothing, and may have more when that attempt ends.
    this.#workLeft ||= isAnyUsedUp(given.shares, work) || given.shares.some(isLimited);
    return work.length;
  };

  #take = (work: Work, speed: Speed): void => {
    this.#slots.add({
      deliveryId: work.deliveryId,
      tenantId: work.tenantId,
      endpoint: work.endpoint,
      speed,
      attempts: work.attemptCount,
      since: performance.now(),
      placed: work.kind !== 'wake',
    });
    this.#lease.inHand.add(work.id);
    this.#handOver.begin(work, speed === 'slow');
  };

  /** Claims commands. @returns milliseconds until the next search; 0 while there may be more */
  #claimCommands = async (): Promise<number> => {
    if (this.#handOver.takes() !== 'all') return this.#settings.poll;
    if (this.#handOver.pending() > this.#settings.slots.total.fast + this.#settings.commands)
      return this.#settings.poll;
    const commands = await this.#store.claimCommands(
      this.needs.database,
      this.#lease.identity(),
      this.#settings.commands,
    );
    for (const command of commands) {
      this.#lease.inHand.add(command.id);
      this.#handOver.begin(command, false);
    }
    if (commands.length === this.#settings.commands) return 0;
    // Included in the run, so that new work does not shorten it: most new work is no command.
    await sleep(this.#settings.commandGap);
    return this.#settings.idlePoll;
  };

  /** Claims once. @returns milliseconds until the next claim; 0 when there may be more work */
  #claim = async (): Promise<number> => {
    const begun = performance.now();
    let claimed = 0;
    this.#endpointsLeft = false;
    try {
      const takes = this.#handOver.takes();
      if (takes !== 'none') claimed = await this.#claimWork(takes);
    } catch (error) {
      this.needs.onFailure(error);
      // This wait is part of the run, so that a notification of new work does not shorten it.
      await sleep(this.#settings.poll);
    }
    const now = performance.now();
    if (claimed > 0) this.#lastWork = now;
    await sleep(Math.max(0, begun + this.#settings.gap - now));
    if ((claimed > 0 && this.#workLeft) || this.#endpointsLeft) return 0;
    const poll = now - this.#lastWork < 5_000 ? this.#settings.poll : this.#settings.idlePoll;
    return Math.min(poll, Math.max(this.#settings.leastWait, this.#nextToken));
  };

  /** Writes the beat, frees the claims of dead relays, and stores the changed speeds of endpoints. */
  #beat = async (): Promise<void> => {
    await this.#lease.beat();
    if ((await this.#store.takeOver(this.needs.database)) > 0) this.poke();
    const changed = this.#speeds.changed();
    if (changed.length > 0) await this.needs.endpoints.saveSpeeds(this.needs.database, changed);
    if ((await this.#lease.auditClaims()) > 0) this.poke();
  };

  /** Frees slots of attempts that another process made, or that no process made. */
  #watchProgress = async (): Promise<void> => {
    const now = performance.now();
    const silent = this.#slots.olderThan(now - this.#settings.progress);
    try {
      const over = silent.length === 0 ? [] : await this.#store.attempted(this.needs.database, silent);
      for (const { id } of over) this.#slots.remove(id);
      if (over.length > 0) this.poke();
    } finally {
      for (const flight of this.#slots.olderThan(now - this.#settings.slotLifetime))
        this.#slots.remove(flight.deliveryId);
    }
  };
}

/** Whether an endpoint had as much work as its share, so that it may have more. */
function isAnyUsedUp(shares: readonly Share[], work: readonly Work[]): boolean {
  const taken = new Map<string, number>();
  for (const { endpoint } of work) taken.set(endpoint, (taken.get(endpoint) ?? 0) + 1);
  return shares.some(({ endpoint, quota }) => (taken.get(endpoint) ?? 0) >= quota);
}

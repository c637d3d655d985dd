// Makes first attempts in the API process that has inserted their deliveries: their rows of the outbox are born with
// the claim of this process, so no relay has to find them. All that an attempt does not settle goes back to the relays.
// docs/decisions/0040-one-engine.md

import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import { createLoop } from '../../platform/process/loop.ts';
import { Service } from '../../platform/service.ts';
import type { ClaimAtBirth, ClaimedDelivery } from '../intake/event.store.ts';
import type { DirectAttempts } from '../intake/publishing.service.ts';
import type { FirstAttemptService } from './first-attempt.service.ts';
import type { LoadedWork, Work } from './relay.store.ts';
import * as store from './relay.store.ts';
import { RelayLease } from './relay-lease.service.ts';
import { idsOf, Settlement } from './settlement.service.ts';

/** Times are in milliseconds. Counts are per process. */
export const DIRECT_SETTINGS = {
  /** The most claims in hand: first attempts under way, and those whose record is under way. */
  room: 256,
  /** The most rows that one insert claims. */
  batch: 64,
  perEndpoint: 64,
  /** Claims in hand for each place of an endpoint: an attempt whose record is under way holds no place. */
  perPlace: 2,
  slowMs: 1_000,
  /** As long as a success after a failure tells relays not to judge an endpoint by its refused first attempts. */
  quietFor: 15_000,
  beat: 1_000,
  /** Less than the time after which relays take the claims of a silent process over. */
  lease: 4_000,
  audit: 10_000,
  /** The time for attempts under way when the process stops. */
  grace: 8_000,
} as const;

type DirectSettings = { readonly [Name in keyof typeof DIRECT_SETTINGS]: number };

type RunningAttempt = { readonly delivery: ClaimedDelivery; readonly attempt: Promise<void> };

export type DirectAttemptNeeds = {
  database: Pick<Database, 'query'>;
  firstAttempts: Pick<FirstAttemptService, 'make'>;
  /** Notifies the relays of rows that this process gives back. */
  notifier: { poke(): void };
  /** Receives failures of the database and of attempts; the service continues. */
  onFailure: (error: unknown) => void;
  settings?: DirectSettings | undefined;
};

export class DirectAttemptService extends Service<DirectAttemptNeeds> implements DirectAttempts {
  readonly #settings = this.needs.settings ?? DIRECT_SETTINGS;
  readonly #lease = new RelayLease({
    database: this.needs.database,
    store,
    instance: newId(),
    role: 'api',
    lasts: this.#settings.lease,
    audit: this.#settings.audit,
  });
  readonly #running = new Map<string, RunningAttempt>();
  readonly #ending = new AbortController();
  #offered = 0;
  #isOpen = false;
  readonly #settlement = new Settlement({
    write: async ({ marked, unmarked, released }) => {
      const ended = [...marked, ...unmarked];
      if (ended.length > 0) await store.complete(this.needs.database, this.#lease.identity(), [], ended);
      if (released.length > 0)
        await store.release(this.needs.database, this.#lease.identity(), idsOf(released));
      for (const { id } of [...ended, ...released]) this.#lease.inHand.delete(id);
      if (released.length > 0) this.needs.notifier.poke();
    },
  });
  readonly #beats = createLoop({
    run: async () => {
      await this.#lease.beat();
      if ((await this.#lease.auditClaims()) > 0) this.needs.notifier.poke();
    },
    next: this.#settings.beat,
    onFailure: this.needs.onFailure,
  });

  /** Offers to claim rows at their insert. @returns undefined while this process has no room */
  offer = () => {
    const room = Math.min(this.#settings.batch, this.#settings.room - this.#running.size - this.#offered);
    if (!this.#isOpen || room <= 0 || !this.#lease.isAlive()) return undefined;
    this.#offered += room;
    const { perEndpoint, slowMs, quietFor } = this.#settings;
    return {
      ...this.#lease.identity(),
      room,
      perEndpoint,
      slowMs,
      quietFor,
      full: fullEndpoints(this.#running.values(), this.#settings),
    };
  };

  /** Begins the attempts of the rows that the offer has claimed. */
  begin = ({ room }: ClaimAtBirth, deliveries: readonly ClaimedDelivery[]) => {
    this.#offered -= room;
    for (const delivery of deliveries) this.#take(delivery);
  };

  /**
   * Begins to claim rows, once the database answers.
   * @returns `stop`, which waits for attempts under way, at most for the grace, and gives the other claims back
   */
  start = () => {
    this.#isOpen = true;
    const beating = this.#beats.start();
    return {
      stop: async () => {
        this.#isOpen = false;
        const grace = setTimeout(() => this.#ending.abort(), this.#settings.grace);
        await Promise.all([...this.#running.values()].map((run) => run.attempt));
        clearTimeout(grace);
        await beating.stop();
        await this.#settlement.drain();
        await this.#lease.leave().catch(this.needs.onFailure);
      },
    };
  };

  #attempt = async (work: Work): Promise<void> => {
    try {
      if (!this.#lease.isAlive()) return this.#settlement.release(work);
      const first = await this.needs.firstAttempts.make(work, this.#ending.signal);
      if (first.kind !== 'done') this.#settlement.release(work);
      else if (first.removed) this.#lease.inHand.delete(work.id);
      else this.#settlement.done(work, false);
    } catch (error) {
      this.#settlement.release(work);
      if (!this.#ending.signal.aborted) this.needs.onFailure(error);
    }
  };

  #take = (delivery: ClaimedDelivery): void => {
    const work = workOf(delivery);
    this.#lease.inHand.add(work.id);
    const made = this.#attempt(work).finally(() => this.#running.delete(work.id));
    this.#running.set(work.id, { delivery, attempt: made });
  };
}

/** The endpoints that have as many claims in hand as this process may have of them. */
function fullEndpoints(
  running: Iterable<RunningAttempt>,
  { perEndpoint, perPlace }: DirectSettings,
): string[] {
  const left = new Map<string, number>();
  for (const { delivery } of running) {
    const { subscriptionId, endpointCap } = delivery;
    const most = Math.min(perEndpoint, endpointCap * perPlace);
    left.set(subscriptionId, (left.get(subscriptionId) ?? most) - 1);
  }
  return [...left].filter(([, count]) => count <= 0).map(([endpoint]) => endpoint);
}

/** The claimed row as a relay would read it, completed in place with what a new delivery is. */
const workOf = (row: ClaimedDelivery): LoadedWork =>
  Object.assign(row, {
    // The row of a first attempt has its delivery's id.
    id: row.deliveryId,
    kind: 'first',
    command: null,
    generation: 0,
    tenantId: row.event.tenantId,
    endpoint: row.subscriptionId,
    status: 'pending',
    rowGeneration: 0,
    attemptCount: 0,
    ownWorkflow: false,
    eventType: row.event.type,
    trace: row.event.trace,
    epoch: row.endpointEpoch,
    paced: false,
    loaded: true,
    test: row.event.test,
    dueInMs: 0,
    lateMs: 0,
    createdAt: row.loadedAt,
    readAt: performance.now(),
    retryRequested: false,
    lastOutcome: null,
    recorded: false,
    endpointFailing: false,
    endpointSteady: true,
    body: Buffer.from(row.event.body),
  } as const);

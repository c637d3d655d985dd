// Accepts events that a tenant's systems publish. An event is committed before the answer, and once for each event id.

import { createHash } from 'node:crypto';
import { prepareEvent } from '../../events/event.ts';
import { type AnswerKey, lockNameOf } from '../../platform/answer-key.ts';
import { createBoundedCache } from '../../platform/bounded-cache.ts';
import type { RequestContext } from '../../platform/context.ts';
import { createCoalescer } from '../../platform/database/coalescer.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import { mapInRounds } from '../../platform/steps.ts';
import { NO_TRACING, type Tracing } from '../../platform/tracing/tracing.ts';
import type { BacklogGauge } from './backlog.service.ts';
import type { ClaimAtBirth, ClaimedDelivery, FanOut, NewPublication } from './event.store.ts';
import * as store from './event.store.ts';
import { contentOf, dataTooLarge, eventIdConflict, IN_ONE_ROUND, type Publication } from './publication.ts';
import type { Notifier, TellEvents } from './record.service.ts';

/** The answer for an accepted event. `deliveries` is the number of subscriptions that get it. */
export type Published = { readonly eventId: string; readonly deliveries: number };

/** Makes the first attempts of deliveries in the process that has inserted them. */
export type DirectAttempts = {
  /** @returns the claim for an insert, which `begin` must follow; undefined when this process may claim none */
  offer(): ClaimAtBirth | undefined;
  /** Begins the first attempts of claimed deliveries, after the commit of their insert. */
  begin(claim: ClaimAtBirth, deliveries: readonly ClaimedDelivery[]): void;
};

/**
 * `cost`: the points that its request has paid for it. `deliveries`: how many it is expected to have. `lane`: those of
 * a tenant with many subscriptions share no statement with those of others.
 */
type Candidate = NewPublication & {
  readonly path: string;
  readonly cost: number;
  readonly deliveries: number;
  readonly lane: string | undefined;
};

/** What a request pays: the limit's headers, and the points for each of its events. */
export type Admission = {
  readonly headers: Readonly<Record<string, string>>;
  readonly costs: readonly number[];
};

/** Types of tenants whose number of deliveries a process remembers. */
const MOST_TYPES = 20_000;

export type PublishingNeeds = {
  database: Pick<Database, 'query'>;
  notifier: Notifier;
  tellEvents?: TellEvents | undefined;
  backlog: Pick<BacklogGauge, 'check' | 'add'>;
  /** Without it, relays of workers make all first attempts. */
  directAttempts?: DirectAttempts | undefined;
  /** A point for each delivery, at least one for each event. */
  limit?: PublishingLimit | undefined;
  tracing?: Pick<Tracing, 'current' | 'span'> | undefined;
  now?: (() => Date) | undefined;
};

type PublishingLimit = {
  readonly points: number;
  /** @returns the limit's headers @throws `rate_limited` */
  take(tenantId: string, cost: number): Readonly<Record<string, string>>;
  correct(tenantId: string, more: number): void;
};

/** What routes call, and the counter of publications wraps. */
export type Publishing = Pick<PublishingService, 'admit' | 'publish' | 'publishOnce'>;

/** Source: Specification, "Events". */
export class PublishingService extends Service<PublishingNeeds> {
  readonly #tellEvents = this.needs.tellEvents ?? (() => undefined);
  readonly #tracing = this.needs.tracing ?? NO_TRACING;
  readonly #now = this.needs.now ?? (() => new Date());
  // Arrays of a tenant with many subscriptions, each a statement.
  readonly #arrays = createCoalescer<readonly Candidate[], FanOut[]>({
    run: (batch) => Promise.all(batch.map((candidates) => this.#insert(candidates))),
    laneOf: ([first]) => first?.lane,
    limits: { rows: 1 },
  });
  readonly #deliveries = createBoundedCache<number>({ limit: MOST_TYPES });
  // Events of concurrent requests share a statement and its disk flush.
  #createInserts = () =>
    createCoalescer<Candidate, FanOut | undefined>({
      run: (batch) => this.#insertBatch(batch),
      sizeOf: ({ record, deliveries }) => ({ rows: Math.max(1, deliveries), bytes: record.body.length }),
      laneOf,
    });
  readonly #singles = this.#createInserts();
  readonly #keyed = this.#createInserts();

  /**
   * Takes points from the tenant's limit: for each event as many as its type had deliveries last, and at least one. The
   * statement says the true number, which corrects the count, so that the next request waits.
   * @param items that `publish` gets next
   * @throws ServiceError `rate_limited`; for one event alone only when nothing is left
   */
  admit = (
    { tenant }: RequestContext,
    items: readonly (Pick<Publication, 'type'> | ServiceError)[],
  ): Admission => {
    const most = items.length === 1 ? Math.max(1, this.needs.limit?.points ?? 1) : Infinity;
    const costs = items.map((item) =>
      item instanceof ServiceError
        ? 1
        : Math.min(most, Math.max(1, this.#deliveries.peek(typeName(tenant.id, item.type)) ?? 1)),
    );
    const cost = costs.reduce((sum, one) => sum + one, 0);
    return { headers: { ...this.needs.limit?.take(tenant.id, Math.max(1, cost)) }, costs };
  };

  /**
   * Publishes events in one statement, or two when an event id is already known. A known event id with the same
   * content gets the first answer again; with other content it gets `event_id_conflict`.
   * @param items checked events, and the errors of events that failed their checks
   * @param costs what `admit` has taken for each; one point by default
   * @returns an answer or an error for each item, in the order of `items`
   * @throws ServiceError `rate_limited` when the tenant's backlog is full; then nothing was written
   */
  publish = (
    context: RequestContext,
    items: readonly (Publication | ServiceError)[],
    costs: readonly number[] = [],
  ): Promise<(Published | ServiceError)[]> =>
    this.#inSpan(items.length, async () => {
      this.needs.backlog.check(context.tenant.id);
      const prepared = await mapInRounds(items, IN_ONE_ROUND, (item, index) =>
        item instanceof ServiceError ? item : this.#prepare(context, item, costs[index]),
      );
      const first = new Map<string, Candidate>();
      for (const item of prepared)
        if (!(item instanceof ServiceError) && !first.has(item.record.eventId))
          first.set(item.record.eventId, item);
      const written = first.size === 0 ? new Map() : await this.#write(context, [...first.values()]);
      return prepared.map((item) => {
        if (item instanceof ServiceError) return item;
        const { eventId } = item.record;
        const outcome = written.get(eventId);
        // The event id was taken at the insert and free at the read, because the other event was deleted in between.
        if (outcome === undefined)
          return new ServiceError('temporarily_unavailable', { retryAfterSeconds: 1 });
        if (outcome.digest !== item.digest) return eventIdConflict(item.path);
        return { eventId, deliveries: outcome.deliveries };
      });
    });

  /**
   * Publishes an event without an event id, and stores the answer under an idempotency key in the same statement.
   * @returns undefined when the key is taken or locked; then nothing was written
   * @throws ServiceError `rate_limited` when the tenant's backlog is full, or the error of the event's checks
   */
  publishOnce = (
    context: RequestContext,
    event: Publication,
    answer: AnswerKey,
    costs: readonly number[] = [],
  ): Promise<Published | undefined> =>
    this.#inSpan(1, async () => {
      this.needs.backlog.check(context.tenant.id);
      const candidate = this.#prepare(context, event, costs[0]);
      if (candidate instanceof ServiceError) throw candidate;
      const row = await this.#keyed.add({ ...candidate, answer });
      this.#account([candidate], row === undefined ? [] : [row]);
      if (row === undefined) return undefined;
      if (row.deliveries > 0) this.needs.backlog.add(context.tenant.id, row.deliveries);
      return { eventId: candidate.record.eventId, deliveries: row.deliveries };
    });

  /** Remembers how many deliveries the events had, and corrects what they have paid. */
  #account = (candidates: readonly Candidate[], written: readonly FanOut[]): void => {
    const counts = new Map(written.map((row) => [row.id, row.deliveries]));
    let more = 0;
    for (const { record, cost } of candidates) {
      const count = counts.get(record.id);
      if (count !== undefined) this.#deliveries.set(typeName(record.tenantId, record.type), count);
      more += Math.max(1, count ?? 1) - cost;
    }
    const [first] = candidates;
    if (first !== undefined && more !== 0) this.needs.limit?.correct(first.record.tenantId, more);
  };

  #inSpan = <T>(count: number, run: () => Promise<T>): Promise<T> => {
    const attributes = { 'messaging.batch.message_count': count };
    return this.#tracing.span('publish', { kind: 'producer', attributes }, run);
  };

  #prepare = ({ tenant }: RequestContext, event: Publication, cost = 1): Candidate | ServiceError => {
    const given = { id: newId(), tenantId: tenant.id, now: this.#now(), trace: this.#tracing.current() };
    try {
      const digest = createHash('sha256').update(contentOf(event)).digest('hex');
      return {
        path: event.path,
        record: prepareEvent(event, given),
        digest,
        cost,
        deliveries: this.#deliveries.peek(typeName(tenant.id, event.type)) ?? 0,
        lane: tenant.fansOut ? tenant.id : undefined,
      };
    } catch (error) {
      if (error instanceof ServiceError) return dataTooLarge(error, event.path);
      throw error;
    }
  };

  /** Inserts events in one statement; reads known event ids in a second. @returns digest and count by event id */
  #write = async (
    { transaction, tenant }: RequestContext,
    candidates: readonly Candidate[],
  ): Promise<Map<string, { digest: string; deliveries: number }>> => {
    const rows = await (transaction === undefined
      ? this.#insertApart(candidates)
      : this.#insertWithin(transaction, candidates));
    this.#account(candidates, rows);
    const accepted = new Map(rows.map(({ id, deliveries }) => [id, deliveries]));
    const outcome = new Map<string, { digest: string; deliveries: number }>();
    const known: string[] = [];
    for (const { record, digest } of candidates) {
      const deliveries = accepted.get(record.id);
      if (deliveries === undefined) known.push(record.eventId);
      else outcome.set(record.eventId, { digest, deliveries });
    }
    if (known.length > 0) {
      const before = await store.findPublished(transaction ?? this.needs.database, tenant.id, known);
      for (const row of before) outcome.set(row.eventId, row);
    }
    const deliveries = countDeliveries(rows);
    if (deliveries > 0) this.needs.backlog.add(tenant.id, deliveries);
    return outcome;
  };

  /** Inserts events outside of a transaction; a single one shares the statement of concurrent requests. */
  #insertApart = async (candidates: readonly Candidate[]): Promise<FanOut[]> => {
    const [only, ...others] = candidates;
    if (only === undefined) return [];
    if (others.length > 0)
      return only.lane === undefined ? this.#insert(candidates) : this.#arrays.add(candidates);
    const row = await this.#singles.add(only);
    return row === undefined ? [] : [row];
  };

  #insertWithin = async (unit: Transaction, candidates: readonly Candidate[]): Promise<FanOut[]> => {
    const { accepted } = await store.publish(unit, candidates);
    unit.afterCommit(() => this.#announce(candidates, accepted, 0));
    return accepted;
  };

  /**
   * Inserts the events of concurrent requests. Their ids are made before, so a repeated statement conflicts with its
   * own rows and changes nothing. One statement can store an answer under a key only once, so a repetition in the same
   * batch counts as taken.
   */
  #insertBatch = async (batch: readonly Candidate[]): Promise<(FanOut | undefined)[]> => {
    const first = new Map(batch.map((one) => [nameOf(one), one] as const).reverse());
    const written = await this.#insert(batch.filter((one) => first.get(nameOf(one)) === one));
    const byId = new Map(written.map((row) => [row.id, row]));
    return batch.map(({ record }) => byId.get(record.id));
  };

  /** Inserts events outside of a transaction, and begins the first attempts that it has claimed. */
  #insert = async (candidates: readonly Candidate[]): Promise<FanOut[]> => {
    const { database, directAttempts } = this.needs;
    const claim = directAttempts?.offer();
    let claimed: readonly ClaimedDelivery[] = [];
    try {
      const inserted = await store.publish(database, candidates, claim);
      claimed = inserted.claimed;
      this.#announce(candidates, inserted.accepted, claimed.length);
      return inserted.accepted;
    } finally {
      if (claim !== undefined) directAttempts?.begin(claim, claimed);
    }
  };

  /** Notifies the relays, unless this process has claimed all deliveries, and the readers of the feed. */
  #announce = (candidates: readonly Candidate[], accepted: readonly FanOut[], claimed: number): void => {
    if (countDeliveries(accepted) > claimed) this.needs.notifier.poke();
    // An event id that was known is told again, which wakes a reader without need, and harms nothing.
    if (accepted.length > 0) this.#tellEvents(candidates.map(({ record }) => record));
  };
}

const laneOf = ({ lane }: Pick<Candidate, 'lane'>) => lane;

const typeName = (tenantId: string, type: string) => `${tenantId} ${type}`;

function countDeliveries(rows: readonly FanOut[]): number {
  return rows.reduce((sum, { deliveries }) => sum + deliveries, 0);
}

function nameOf({ record, answer }: Candidate): string {
  return answer === undefined ? record.id : lockNameOf(answer.scope);
}

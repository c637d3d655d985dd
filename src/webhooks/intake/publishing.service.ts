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
import { mapInRounds } from '../../platform/steps.ts';
import { NO_TRACING, type Tracing } from '../../platform/tracing/tracing.ts';
import { bindUseCases } from '../../platform/use-cases.ts';
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
  backlog: BacklogGauge;
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

/** Source: Specification, "Events". */
export function createPublishingService(needs: PublishingNeeds) {
  return bindUseCases(preparePublishing(needs), { admit, publish, publishOnce });
}

export type PublishingService = ReturnType<typeof createPublishingService>;

type PublishingTools = ReturnType<typeof preparePublishing>;

function preparePublishing({
  tellEvents = () => undefined,
  tracing = NO_TRACING,
  now = () => new Date(),
  ...needs
}: PublishingNeeds) {
  const writing = { ...needs, tellEvents };
  const laneOf = ({ lane }: Pick<Candidate, 'lane'>) => lane;
  // Events of concurrent requests share a statement and its disk flush.
  const createInserts = () =>
    createCoalescer<Candidate, FanOut | undefined>({
      run: (batch) => insertBatch(writing, batch),
      sizeOf: ({ record, deliveries }) => ({ rows: Math.max(1, deliveries), bytes: record.body.length }),
      laneOf,
    });
  // Arrays of a tenant with many subscriptions, each a statement.
  const arrays = createCoalescer<readonly Candidate[], FanOut[]>({
    run: (batch) => Promise.all(batch.map((candidates) => insert(writing, candidates))),
    laneOf: ([first]) => first?.lane,
    limits: { rows: 1 },
  });
  const deliveries = createBoundedCache<number>({ limit: MOST_TYPES });
  return { ...writing, tracing, now, deliveries, singles: createInserts(), keyed: createInserts(), arrays };
}

type Writing = Pick<PublishingNeeds, 'database' | 'notifier' | 'directAttempts'> & { tellEvents: TellEvents };

/**
 * Takes points from the tenant's limit: for each event as many as its type had deliveries last, and at least one. The
 * statement says the true number, which corrects the count, so that the next request waits.
 * @param items that `publish` gets next
 * @throws ServiceError `rate_limited`; for one event alone only when nothing is left
 */
function admit(
  { limit, deliveries }: PublishingTools,
  { tenant }: RequestContext,
  items: readonly (Pick<Publication, 'type'> | ServiceError)[],
): Admission {
  const most = items.length === 1 ? Math.max(1, limit?.points ?? 1) : Infinity;
  const costs = items.map((item) =>
    item instanceof ServiceError
      ? 1
      : Math.min(most, Math.max(1, deliveries.peek(typeName(tenant.id, item.type)) ?? 1)),
  );
  const cost = costs.reduce((sum, one) => sum + one, 0);
  return { headers: { ...limit?.take(tenant.id, Math.max(1, cost)) }, costs };
}

/** Remembers how many deliveries the events had, and corrects what they have paid. */
function account(
  { limit, deliveries }: PublishingTools,
  candidates: readonly Candidate[],
  written: readonly FanOut[],
): void {
  const counts = new Map(written.map((row) => [row.id, row.deliveries]));
  let more = 0;
  for (const { record, cost } of candidates) {
    const count = counts.get(record.id);
    if (count !== undefined) deliveries.set(typeName(record.tenantId, record.type), count);
    more += Math.max(1, count ?? 1) - cost;
  }
  const [first] = candidates;
  if (first !== undefined && more !== 0) limit?.correct(first.record.tenantId, more);
}

const typeName = (tenantId: string, type: string) => `${tenantId} ${type}`;

/**
 * Publishes events in one statement, or two when an event id is already known. A known event id with the same
 * content gets the first answer again; with other content it gets `event_id_conflict`.
 * @param items checked events, and the errors of events that failed their checks
 * @param costs what `admit` has taken for each; one point by default
 * @returns an answer or an error for each item, in the order of `items`
 * @throws ServiceError `rate_limited` when the tenant's backlog is full; then nothing was written
 */
function publish(
  needs: PublishingTools,
  context: RequestContext,
  items: readonly (Publication | ServiceError)[],
  costs: readonly number[] = [],
): Promise<(Published | ServiceError)[]> {
  return inSpan(needs, items.length, async () => {
    needs.backlog.check(context.tenant.id);
    const prepared = await mapInRounds(items, IN_ONE_ROUND, (item, index) =>
      item instanceof ServiceError ? item : prepare(needs, context, item, costs[index]),
    );
    const first = new Map<string, Candidate>();
    for (const item of prepared)
      if (!(item instanceof ServiceError) && !first.has(item.record.eventId))
        first.set(item.record.eventId, item);
    const written = first.size === 0 ? new Map() : await write(needs, context, [...first.values()]);
    return prepared.map((item) => {
      if (item instanceof ServiceError) return item;
      const { eventId } = item.record;
      const outcome = written.get(eventId);
      // The event id was taken at the insert and free at the read, because the other event was deleted in between.
      if (outcome === undefined) return new ServiceError('temporarily_unavailable', { retryAfterSeconds: 1 });
      if (outcome.digest !== item.digest) return eventIdConflict(item.path);
      return { eventId, deliveries: outcome.deliveries };
    });
  });
}

/**
 * Publishes an event without an event id, and stores the answer under an idempotency key in the same statement.
 * @returns undefined when the key is taken or locked; then nothing was written
 * @throws ServiceError `rate_limited` when the tenant's backlog is full, or the error of the event's checks
 */
function publishOnce(
  needs: PublishingTools,
  context: RequestContext,
  event: Publication,
  answer: AnswerKey,
  costs: readonly number[] = [],
): Promise<Published | undefined> {
  return inSpan(needs, 1, async () => {
    needs.backlog.check(context.tenant.id);
    const candidate = prepare(needs, context, event, costs[0]);
    if (candidate instanceof ServiceError) throw candidate;
    const row = await needs.keyed.add({ ...candidate, answer });
    account(needs, [candidate], row === undefined ? [] : [row]);
    if (row === undefined) return undefined;
    if (row.deliveries > 0) needs.backlog.add(context.tenant.id, row.deliveries);
    return { eventId: candidate.record.eventId, deliveries: row.deliveries };
  });
}

function inSpan<T>({ tracing }: PublishingTools, count: number, run: () => Promise<T>): Promise<T> {
  const attributes = { 'messaging.batch.message_count': count };
  return tracing.span('publish', { kind: 'producer', attributes }, run);
}

function prepare(
  { tracing, now, deliveries }: PublishingTools,
  { tenant }: RequestContext,
  event: Publication,
  cost = 1,
): Candidate | ServiceError {
  const given = { id: newId(), tenantId: tenant.id, now: now(), trace: tracing.current() };
  try {
    const digest = createHash('sha256').update(contentOf(event)).digest('hex');
    return {
      path: event.path,
      record: prepareEvent(event, given),
      digest,
      cost,
      deliveries: deliveries.peek(typeName(tenant.id, event.type)) ?? 0,
      lane: tenant.fansOut ? tenant.id : undefined,
    };
  } catch (error) {
    if (error instanceof ServiceError) return dataTooLarge(error, event.path);
    throw error;
  }
}

/** Inserts events in one statement; reads known event ids in a second. @returns digest and count by event id */
async function write(
  needs: PublishingTools,
  { transaction, tenant }: RequestContext,
  candidates: readonly Candidate[],
): Promise<Map<string, { digest: string; deliveries: number }>> {
  const rows = await (transaction === undefined
    ? insertApart(needs, candidates)
    : insertWithin(needs, transaction, candidates));
  account(needs, candidates, rows);
  const accepted = new Map(rows.map(({ id, deliveries }) => [id, deliveries]));
  const outcome = new Map<string, { digest: string; deliveries: number }>();
  const known: string[] = [];
  for (const { record, digest } of candidates) {
    const deliveries = accepted.get(record.id);
    if (deliveries === undefined) known.push(record.eventId);
    else outcome.set(record.eventId, { digest, deliveries });
  }
  if (known.length > 0) {
    const before = await store.findPublished(transaction ?? needs.database, tenant.id, known);
    for (const row of before) outcome.set(row.eventId, row);
  }
  const deliveries = countDeliveries(rows);
  if (deliveries > 0) needs.backlog.add(tenant.id, deliveries);
  return outcome;
}

/** Inserts events outside of a transaction; a single one shares the statement of concurrent requests. */
async function insertApart(needs: PublishingTools, candidates: readonly Candidate[]): Promise<FanOut[]> {
  const [only, ...others] = candidates;
  if (only === undefined) return [];
  if (others.length > 0)
    return only.lane === undefined ? insert(needs, candidates) : needs.arrays.add(candidates);
  const row = await needs.singles.add(only);
  return row === undefined ? [] : [row];
}

async function insertWithin(
  needs: Writing,
  unit: Transaction,
  candidates: readonly Candidate[],
): Promise<FanOut[]> {
  const { accepted } = await store.publish(unit, candidates);
  unit.afterCommit(() => announce(needs, candidates, accepted, 0));
  return accepted;
}

/**
 * Inserts the events of concurrent requests. Their ids are made before, so a repeated statement conflicts with its own
 * rows and changes nothing. One statement can store an answer under a key only once, so a repetition in the same batch
 * counts as taken.
 */
async function insertBatch(needs: Writing, batch: readonly Candidate[]): Promise<(FanOut | undefined)[]> {
  const first = new Map(batch.map((one) => [nameOf(one), one] as const).reverse());
  const written = await insert(
    needs,
    batch.filter((one) => first.get(nameOf(one)) === one),
  );
  const byId = new Map(written.map((row) => [row.id, row]));
  return batch.map(({ record }) => byId.get(record.id));
}

/** Inserts events outside of a transaction, and begins the first attempts that it has claimed. */
async function insert(needs: Writing, candidates: readonly Candidate[]): Promise<FanOut[]> {
  const { database, directAttempts } = needs;
  const claim = directAttempts?.offer();
  let claimed: readonly ClaimedDelivery[] = [];
  try {
    const inserted = await store.publish(database, candidates, claim);
    claimed = inserted.claimed;
    announce(needs, candidates, inserted.accepted, claimed.length);
    return inserted.accepted;
  } finally {
    if (claim !== undefined) directAttempts?.begin(claim, claimed);
  }
}

/** Notifies the relays, unless this process has claimed all deliveries, and the readers of the feed. */
function announce(
  { notifier, tellEvents }: Writing,
  candidates: readonly Candidate[],
  accepted: readonly FanOut[],
  claimed: number,
): void {
  if (countDeliveries(accepted) > claimed) notifier.poke();
  // An event id that was known is told again, which wakes a reader without need, and harms nothing.
  if (accepted.length > 0) tellEvents(candidates.map(({ record }) => record));
}

function countDeliveries(rows: readonly FanOut[]): number {
  return rows.reduce((sum, { deliveries }) => sum + deliveries, 0);
}

function nameOf({ record, answer }: Candidate): string {
  return answer === undefined ? record.id : lockNameOf(answer.scope);
}

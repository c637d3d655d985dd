// Accepts events that a tenant's systems publish. An event is committed before the answer, and once for each event id.

import { createHash } from 'node:crypto';
import { prepareEvent } from '../../events/event.ts';
import { type AnswerKey, lockNameOf } from '../../platform/answer-key.ts';
import type { RequestContext } from '../../platform/context.ts';
import { createCoalescer } from '../../platform/database/coalescer.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
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

type Candidate = NewPublication & { readonly path: string };

/** Source: Specification, "Events". */
export function createPublishingService({
  database,
  notifier,
  tellEvents = () => undefined,
  backlog,
  directAttempts,
  limit,
  tracing = NO_TRACING,
  now = () => new Date(),
}: {
  database: Pick<Database, 'query'>;
  notifier: Notifier;
  tellEvents?: TellEvents | undefined;
  backlog: BacklogGauge;
  /** Without it, relays of workers make all first attempts. */
  directAttempts?: DirectAttempts | undefined;
  /** Takes one point for each event from the tenant's limit. @returns the limit's headers @throws `rate_limited` */
  limit?: { take(tenantId: string, cost: number): Readonly<Record<string, string>> } | undefined;
  tracing?: Pick<Tracing, 'current' | 'span'> | undefined;
  now?: (() => Date) | undefined;
}) {
  const prepare = (context: RequestContext, event: Publication): Candidate | ServiceError => {
    const given = { id: newId(), tenantId: context.tenant.id, now: now(), trace: tracing.current() };
    try {
      const digest = createHash('sha256').update(contentOf(event)).digest('hex');
      return { path: event.path, record: prepareEvent(event, given), digest };
    } catch (error) {
      if (error instanceof ServiceError) return dataTooLarge(error, event.path);
      throw error;
    }
  };

  // Events of concurrent requests share a statement and its disk flush. Their ids are made before, so a repeated
  // statement conflicts with its own rows and changes nothing. One statement can store an answer under a key only once,
  // so a repetition in the same batch counts as taken.
  const createInserts = () =>
    createCoalescer<Candidate, FanOut | undefined>({
      run: async (batch) => {
        const first = new Map(batch.map((one) => [nameOf(one), one] as const).reverse());
        const written = await insert(batch.filter((one) => first.get(nameOf(one)) === one));
        const byId = new Map(written.map((row) => [row.id, row]));
        return batch.map(({ record }) => byId.get(record.id));
      },
      sizeOf: ({ record }) => ({ rows: 1, bytes: record.body.length }),
    });
  const singles = createInserts();
  const keyed = createInserts();

  /** Inserts events outside of a transaction, and begins the first attempts that it has claimed. */
  const insert = async (candidates: readonly Candidate[]): Promise<FanOut[]> => {
    const claim = directAttempts?.offer();
    let claimed: readonly ClaimedDelivery[] = [];
    try {
      const inserted = await store.publish(database, candidates, claim);
      claimed = inserted.claimed;
      announce(candidates, inserted.accepted, claimed.length);
      return inserted.accepted;
    } finally {
      if (claim !== undefined) directAttempts?.begin(claim, claimed);
    }
  };

  const insertOne = async (candidate: Candidate): Promise<FanOut[]> => {
    const row = await singles.add(candidate);
    return row === undefined ? [] : [row];
  };

  const insertWithin = async (unit: Transaction, candidates: readonly Candidate[]): Promise<FanOut[]> => {
    const { accepted } = await store.publish(unit, candidates);
    unit.afterCommit(() => announce(candidates, accepted, 0));
    return accepted;
  };

  /** Inserts events in one statement; reads known event ids in a second. @returns digest and count by event id */
  const write = async (
    context: RequestContext,
    candidates: readonly Candidate[],
  ): Promise<Map<string, { digest: string; deliveries: number }>> => {
    const { transaction } = context;
    const [only, ...others] = candidates;
    const isSingle = only !== undefined && others.length === 0;
    const rows = await (transaction !== undefined
      ? insertWithin(transaction, candidates)
      : isSingle
        ? insertOne(only)
        : insert(candidates));
    const accepted = new Map(rows.map(({ id, deliveries }) => [id, deliveries]));
    const outcome = new Map<string, { digest: string; deliveries: number }>();
    const known: string[] = [];
    for (const { record, digest } of candidates) {
      const deliveries = accepted.get(record.id);
      if (deliveries === undefined) known.push(record.eventId);
      else outcome.set(record.eventId, { digest, deliveries });
    }
    if (known.length > 0) {
      const before = await store.findPublished(transaction ?? database, context.tenant.id, known);
      for (const row of before) outcome.set(row.eventId, row);
    }
    const deliveries = rows.reduce((sum, row) => sum + row.deliveries, 0);
    if (deliveries > 0) backlog.add(context.tenant.id, deliveries);
    return outcome;
  };

  /** Notifies the relays, unless this process has claimed all deliveries, and the readers of the feed. */
  const announce = (candidates: readonly Candidate[], accepted: readonly FanOut[], claimed: number): void => {
    const deliveries = accepted.reduce((sum, row) => sum + row.deliveries, 0);
    if (deliveries > claimed) notifier.poke();
    // An event id that was known is told again, which wakes a reader without need, and harms nothing.
    if (accepted.length > 0) tellEvents(candidates.map(({ record }) => record));
  };

  const publish = async (
    context: RequestContext,
    items: readonly (Publication | ServiceError)[],
  ): Promise<(Published | ServiceError)[]> => {
    backlog.check(context.tenant.id);
    const prepared = await mapInRounds(items, IN_ONE_ROUND, (item) =>
      item instanceof ServiceError ? item : prepare(context, item),
    );
    const first = new Map<string, Candidate>();
    for (const item of prepared) {
      if (!(item instanceof ServiceError) && !first.has(item.record.eventId))
        first.set(item.record.eventId, item);
    }
    const written = first.size === 0 ? new Map() : await write(context, [...first.values()]);
    return prepared.map((item) => {
      if (item instanceof ServiceError) return item;
      const { eventId } = item.record;
      const outcome = written.get(eventId);
      // The event id was taken at the insert and free at the read, because the other event was deleted in between.
      if (outcome === undefined) return new ServiceError('temporarily_unavailable', { retryAfterSeconds: 1 });
      if (outcome.digest !== item.digest) return eventIdConflict(item.path);
      return { eventId, deliveries: outcome.deliveries };
    });
  };

  const publishOnce = async (
    context: RequestContext,
    event: Publication,
    answer: AnswerKey,
  ): Promise<Published | undefined> => {
    backlog.check(context.tenant.id);
    const candidate = prepare(context, event);
    if (candidate instanceof ServiceError) throw candidate;
    const row = await keyed.add({ ...candidate, answer });
    if (row === undefined) return undefined;
    if (row.deliveries > 0) backlog.add(context.tenant.id, row.deliveries);
    return { eventId: candidate.record.eventId, deliveries: row.deliveries };
  };

  const inSpan = <T>(count: number, run: () => Promise<T>): Promise<T> =>
    tracing.span(
      'publish',
      { kind: 'producer', attributes: { 'messaging.batch.message_count': count } },
      run,
    );

  return {
    /**
     * Takes `count` points from the tenant's limit.
     * @returns the limit's headers
     * @throws ServiceError `rate_limited`
     */
    admit: ({ tenant }: RequestContext, count: number): Record<string, string> => ({
      ...limit?.take(tenant.id, Math.max(1, count)),
    }),

    /**
     * Publishes events in one statement, or two when an event id is already known. A known event id with the same
     * content gets the first answer again; with other content it gets `event_id_conflict`.
     * @param items checked events, and the errors of events that failed their checks
     * @returns an answer or an error for each item, in the order of `items`
     * @throws ServiceError `rate_limited` when the tenant's backlog is full; then nothing was written
     */
    publish: (
      context: RequestContext,
      items: readonly (Publication | ServiceError)[],
    ): Promise<(Published | ServiceError)[]> => inSpan(items.length, () => publish(context, items)),

    /**
     * Publishes an event without an event id, and stores the answer under an idempotency key in the same statement.
     * @returns undefined when the key is taken or locked; then nothing was written
     * @throws ServiceError `rate_limited` when the tenant's backlog is full, or the error of the event's checks
     */
    publishOnce: (
      context: RequestContext,
      event: Publication,
      answer: AnswerKey,
    ): Promise<Published | undefined> => inSpan(1, () => publishOnce(context, event, answer)),
  };
}

export type PublishingService = ReturnType<typeof createPublishingService>;

function nameOf({ record, answer }: Candidate): string {
  return answer === undefined ? record.id : lockNameOf(answer.scope);
}

// SQL of events. One statement inserts events with their deliveries and rows of the outbox; the caller notifies the
// relays after the commit.
import { type AuditRecord, ENTRY_COLUMNS, insertEntries } from '../../audit/audit.ts';
import { EVENT_COLUMNS, type EventRecord, readEvents } from '../../events/event.ts';
import { type AnswerKey, KEY_COLUMNS } from '../../platform/answer-key.ts';
import { isAmong } from '../../platform/columns.ts';
import { deleteOldest } from '../../platform/database/deletion.ts';
import { many, value } from '../../platform/database/statements.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { type LoadedReceiver, RECEIVER_COLUMNS } from '../deliveries/attempt.store.ts';
import { EMIT_INPUT, enqueueFirst, insertWork, MATCHED } from './fan-out.ts';

/** The number of deliveries of an accepted event. `deliveryId` is set only for an event to one subscription. */
export type FanOut = {
  readonly id: string;
  readonly deliveries: number;
  readonly deliveryId: string | null;
};

/**
 * The claim of a process on rows of the outbox that it inserts, so that no relay has to find them. At most `room` rows,
 * `perEndpoint` of an endpoint, none of the endpoints in `full`, with a 90th percentile of `slowMs` or more, or that
 * have recovered within `quietFor` milliseconds.
 */
export type ClaimAtBirth = {
  readonly instance: string;
  readonly epoch: number;
  readonly room: number;
  readonly perEndpoint: number;
  readonly full: readonly string[];
  readonly slowMs: number;
  readonly quietFor: number;
};

/** A new delivery whose row of the outbox the inserting process has claimed, with what its first attempt needs. */
export type ClaimedDelivery = ClaimedColumns & { readonly deliveryId: string; readonly event: EventRecord };

type ClaimedColumns = LoadedReceiver & { readonly subscriptionId: string; readonly host: string };

/**
 * An event to publish. `digest`: SHA-256 of its content in hex; `answer`: stores the answer under an idempotency key.
 */
export type NewPublication = {
  readonly record: EventRecord;
  readonly digest: string;
  readonly answer?: AnswerKey | undefined;
};

type AcceptedRow = FanOut & ClaimedColumns & { readonly claimed: string | null };

/** A published event. `digest` is the SHA-256 of its content in hex. */
export type PublishedRow = {
  readonly eventId: string;
  readonly digest: string;
  readonly deliveries: number;
};

const ANSWER = 'SELECT id, deliveries, delivery_id FROM accepted';

const emitAll = many<FanOut, unknown[]>(`
WITH new_audit_entries AS (${insertEntries({ first: EVENT_COLUMNS.count + 1 })}), input AS (${readEvents()}), ${EMIT_INPUT}
${ANSWER} WHERE deliveries > 0`);

// Rows are inserted in the order of the unique key, so that two publications with the same ids cannot deadlock.
const accepted = (condition: string) => `
accepted AS (
  INSERT INTO published_events (tenant_id, event_id, id, digest, deliveries)
  SELECT tenant_id, event_id, id, decode(content_digest, 'hex'), cardinality(subscriptions) FROM heard
  ${condition} ORDER BY tenant_id, event_id
  ON CONFLICT DO NOTHING
  RETURNING id, deliveries, NULL::text AS delivery_id
)`;
const ACCEPTED = accepted('');

// An event whose idempotency key is taken, or locked by a request under way, is not inserted. The stored body is the
// route's answer, byte for byte.
const ACCEPTED_WITH_KEYS = `
stored AS (
  INSERT INTO idempotency_keys AS kept (tenant_id, principal, route, key, request_digest, status, headers, body)
  SELECT tenant_id, principal, route, key, decode(digest, 'hex'), 202, '{}',
    to_jsonb('{"event_id":' || to_json(event_id)::text || ',"deliveries":' || cardinality(subscriptions) || '}')
  FROM heard WHERE pg_try_advisory_xact_lock(hashtextextended(lock, 0))
  ON CONFLICT (tenant_id, principal, route, key) DO UPDATE
    SET request_digest = excluded.request_digest, status = excluded.status, headers = excluded.headers, body = excluded.body, created_at = now()
    WHERE kept.created_at <= now() - interval '24 hours'
  RETURNING tenant_id, principal, route, key
), ${accepted(`WHERE ${isAmong('tenant_id, principal, route, key', 'stored')}`)}`;

// Only endpoints without failures now and lately, pace and rate, and not known as slow: the others need a relay's
// slots, permits and judgement.
const claimedWork = ({ instance, epoch, room, perEndpoint, full, slowMs, quietFor }: ClaimParameters) => `
chosen AS (
  SELECT id, delivery_id, subscription_id FROM (
    SELECT m.id, m.delivery_id, m.subscription_id, p.in_flight_cap,
      row_number() OVER (PARTITION BY m.subscription_id ORDER BY m.delivery_id) AS nth
    FROM matched m JOIN endpoints p ON p.subscription_id = m.subscription_id
    WHERE ${isAmong('m.id', 'accepted', 'id')} AND m.subscription_id <> ALL (${full}::uuid[])
      AND endpoint_is_open(p) AND p.state = 'open' AND p.failures_in_a_row = 0
      AND p.permits IS NULL AND p.rate IS NULL AND coalesce(p.p90_ms, 0) < ${slowMs}
      AND coalesce(p.recovered_at < now() - ${quietFor}::float8 * interval '1 millisecond', true)
      AND EXISTS (SELECT 1 FROM relays WHERE instance = ${instance} AND epoch = ${epoch} AND seen_at > now() - interval '5 seconds')
  ) AS open WHERE nth <= least(${perEndpoint}::int, in_flight_cap) LIMIT ${room}
), new_work AS (
  ${enqueueFirst(
    `(SELECT *, ${isAmong('id', 'chosen', 'delivery_id')} AS is_chosen FROM new_deliveries) AS n`,
    `CASE WHEN is_chosen THEN ${instance}::uuid END, CASE WHEN is_chosen THEN ${epoch}::bigint END`,
  )}
  RETURNING id, claimed_by
)`;

const CLAIM_MEMBERS = ['instance', 'epoch', 'room', 'perEndpoint', 'full', 'slowMs', 'quietFor'] as const;

/** The placeholders of a claim's members, such as `$13`. */
type ClaimParameters = { readonly [Name in keyof ClaimAtBirth]: string };

// A row for each accepted event, and one for each claimed delivery.
const ANSWER_WITH_CLAIMS = `
SELECT a.id, a.deliveries, a.delivery_id, a.claimed, s.id AS subscription_id, s.host, ${RECEIVER_COLUMNS}
FROM (
  SELECT id, deliveries, delivery_id, NULL::uuid AS claimed, NULL::uuid AS subscription_id FROM accepted
  UNION ALL
  SELECT id, 0, NULL, delivery_id, subscription_id FROM chosen
  WHERE ${isAmong('delivery_id', '(SELECT id FROM new_work WHERE claimed_by IS NOT NULL) AS w', 'id')}
) AS a LEFT JOIN subscriptions s ON s.id = a.subscription_id LEFT JOIN endpoints p ON p.subscription_id = a.subscription_id`;

/** The statement of a publication. @param more the columns of the batch behind those of the events, all text */
const publication = (rows: string, more: readonly string[]) => {
  const input = `input AS (${readEvents(1, Object.fromEntries(more.map((name) => [name, 'text'])))})`;
  const first = EVENT_COLUMNS.count + more.length + 1;
  const parameters = CLAIM_MEMBERS.map((name, index) => [name, `$${first + index}`]);
  const work = claimedWork(Object.fromEntries(parameters) as ClaimParameters);
  const before = `WITH ${input}, ${MATCHED}, ${rows}`;
  const kept = isAmong('id', 'accepted');
  return {
    plain: many<FanOut, unknown[]>(`${before}, ${insertWork(kept)} ${ANSWER}`),
    claiming: many<AcceptedRow, unknown[]>(`${before}, ${insertWork(kept, work)} ${ANSWER_WITH_CLAIMS}`),
  };
};
const PUBLISH = publication(ACCEPTED, ['content_digest']);
const PUBLISH_WITH_KEYS = publication(ACCEPTED_WITH_KEYS, [
  'content_digest',
  ...KEY_COLUMNS.names.split(', '),
]);

/**
 * Inserts events with their deliveries (inactive subscriptions included), outbox rows and audit entries, in one
 * statement. An event that matches no subscription is inserted only when it ends access (`ACCESS_TYPES`). A repetition
 * with the same ids changes nothing.
 * @returns a row for each event with deliveries, in no order
 */
export function emit(
  unit: Queryable,
  events: readonly EventRecord[],
  audit: readonly AuditRecord[] = [],
): Promise<FanOut[]> {
  return emitAll(unit, ...EVENT_COLUMNS.of(events), ...ENTRY_COLUMNS.of(audit));
}

/**
 * Inserts published events like `emit`. An event whose event id or idempotency key is taken is not inserted. The other
 * events are inserted even without subscribers, for the feed.
 * @param publications each event id and each idempotency key once; either all have an idempotency key or none
 * @param claim claims new rows of the outbox for this process
 * @returns a row for each accepted event, in no order, and the claimed deliveries
 */
export async function publish(
  unit: Queryable,
  publications: readonly NewPublication[],
  claim?: ClaimAtBirth | undefined,
): Promise<{ accepted: FanOut[]; claimed: ClaimedDelivery[] }> {
  const events = publications.map(({ record }) => record);
  const values: unknown[] = [...EVENT_COLUMNS.of(events), publications.map(({ digest }) => digest)];
  const keys = publications.flatMap(({ answer }) => answer ?? []);
  if (keys.length > 0) values.push(...KEY_COLUMNS.of(keys));
  const { plain, claiming } = keys.length > 0 ? PUBLISH_WITH_KEYS : PUBLISH;
  if (claim === undefined) return { accepted: await plain(unit, ...values), claimed: [] };
  values.push(...CLAIM_MEMBERS.map((name) => claim[name]));
  const rows = await claiming(unit, ...values);
  const byId = new Map(events.map((event) => [event.id, event]));
  const claimed: ClaimedDelivery[] = [];
  for (const row of rows) {
    const event = byId.get(row.id);
    // Completed in place: V8 builds a copy of so many members one by one.
    if (row.claimed !== null && event !== undefined)
      claimed.push(Object.assign(row, { deliveryId: row.claimed, event }));
  }
  return { accepted: rows.filter((row) => row.claimed === null), claimed };
}

/** Reads the published events with these ids. Unknown ids are left out. */
export const findPublished = many<PublishedRow, [tenantId: string, eventIds: readonly string[]]>(`
SELECT event_id, encode(digest, 'hex') AS digest, deliveries
FROM published_events WHERE tenant_id = $1 AND event_id = ANY ($2::text[])`);

/** Deletes event ids that are older than so many days, as the events are. @returns how many, at most `limit` */
export const purgePublished = deleteOldest<[days: number]>('published_events', {
  key: ['tenant_id', 'event_id'],
  old: `created_at < ((now() AT TIME ZONE 'UTC')::date - $2::int)::timestamp AT TIME ZONE 'UTC'`,
  by: 'created_at',
});

/** Counts unfinished deliveries of the tenant's subscriptions: at most `atMost` rows are read, however many wait. */
export const countUnfinished = value<number, [tenantId: string, atMost: number]>(`
SELECT count(*)::int AS unfinished FROM (
  SELECT 1 FROM subscriptions s JOIN deliveries d ON d.subscription_id = s.id
  WHERE s.tenant_id = $1 AND s.deleted_at IS NULL AND d.status IN ('pending', 'retrying')
  LIMIT $2
) AS counted`);

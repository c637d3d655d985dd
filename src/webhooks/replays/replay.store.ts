// SQL that replays many ended deliveries. Each replay is a new generation, like the replay of a single delivery.
import { newId } from '../../platform/database/ids.ts';
import { only, value } from '../../platform/database/statements.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { beginAgain } from '../rows/delivery-row.ts';
import { enqueue } from '../rows/outbox.ts';
import { REPLAYABLE, type ReplayableStatus } from './bulk-replay.ts';

/** Ended deliveries of one subscription, created from `since` to before `until`, that had `status` by `endedBy`. */
export type ReplayRange = {
  readonly tenantId: string;
  readonly subscriptionId: string;
  readonly status: ReplayableStatus;
  readonly since: Date;
  readonly until: Date;
  readonly endedBy: Date;
};

/** Widens a range of ids, because their time comes from an api process but `created_at` from the database. */
const CLOCK_SKEW = "interval '1 hour'";

type RangeValues = [tenantId: string, subscriptionId: string, endedBy: Date, since: Date, until: Date];

/** The status is literal text, because the planner then uses the partial indexes: a statement for each. */
const ofEach = <Made>(make: (inRange: string) => Made): Readonly<Record<ReplayableStatus, Made>> => {
  const made = REPLAYABLE.map((status) => [
    status,
    make(`
d.tenant_id = $1 AND d.subscription_id = $2 AND d.status = '${status}' AND d.completed_at <= $3
  AND d.created_at >= $4 AND d.created_at < $5
  AND d.id >= uuid_of_time(greatest($4::timestamptz - ${CLOCK_SKEW}, 'epoch')) AND d.id < uuid_of_time($5::timestamptz + ${CLOCK_SKEW})`),
  ]);
  return Object.fromEntries(made) as Record<ReplayableStatus, Made>;
};

const COUNT = ofEach((inRange) =>
  value<number, RangeValues>(`SELECT count(*)::int FROM deliveries d WHERE ${inRange}`),
);

type Replayed = { readonly replayed: number; readonly last: string | null };

// Deliveries are locked in id order, to prevent deadlocks. The rows of the outbox keep that order.
const REPLAY = ofEach((inRange) =>
  only<Replayed, [...RangeValues, after: string, limit: number, ids: readonly string[], id: string]>(`
WITH target AS (
  SELECT d.id, true AS ended FROM deliveries d WHERE ${inRange} AND d.id > $6 ORDER BY d.id LIMIT $7 FOR UPDATE
), changed AS (
  ${beginAgain('target')}
), numbered AS (
  SELECT changed.*, row_number() OVER (ORDER BY id)::int AS place FROM changed
), work AS (${enqueue({ id: '($8::uuid[])[place]', kind: `'start'`, rank: '2', from: 'numbered' })}
), part AS (
  INSERT INTO bulk_replay_parts (replay_id, first, last, deliveries)
  SELECT $9, ids[1], ids[cardinality(ids)], ids FROM (SELECT array_agg(id ORDER BY id) AS ids FROM changed) AS c WHERE ids IS NOT NULL
)
SELECT count(*)::int AS replayed, (array_agg(id ORDER BY id DESC))[1] AS last FROM changed`),
);

const valuesOf = ({ tenantId, subscriptionId, since, until, endedBy }: ReplayRange): RangeValues => [
  tenantId,
  subscriptionId,
  endedBy,
  since,
  until,
];

/** Counts the deliveries that are in the range now. */
export function count(queryable: Queryable, range: ReplayRange): Promise<number> {
  return COUNT[range.status](queryable, ...valuesOf(range));
}

/**
 * Replays the next deliveries of the range, the oldest first: attempt numbers go on, the schedule starts again. A
 * delivery that was replayed after `endedBy` is no longer in the range.
 * @param options.id of the bulk replay @param options.after id of the last delivery that was handled
 * @returns how many were replayed and the id of the last; fewer than `limit` means that the range is done
 */
export function replay(
  unit: Queryable,
  range: ReplayRange,
  { id, after, limit }: { id: string; after: string; limit: number },
): Promise<Replayed> {
  const ids = Array.from({ length: limit }, newId);
  return REPLAY[range.status](unit, ...valuesOf(range), after, limit, ids, id);
}

/** Counts the subscription's replays that no relay has claimed yet, up to `atMost`. */
export const waiting = value<number, [tenantId: string, subscriptionId: string, atMost: number]>(`
SELECT count(*)::int FROM (
  SELECT 1 FROM outbox WHERE tenant_id = $1 AND endpoint = $2 AND rank = 2 AND claimed_by IS NULL AND kind <> 'command' LIMIT $3) AS rows`);

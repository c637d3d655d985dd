// SQL of the accounts. The number of accepted deliveries is read from the events, all other numbers from the
// deliveries.
import { columnsOf } from '../../platform/columns.ts';
import { countBreaches } from '../../platform/database/breach.ts';
import { KEPT_DAYS } from '../../platform/database/kept-days.ts';
import { changed, counted, many } from '../../platform/database/statements.ts';
import { batchOf } from '../../platform/database/table.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { DELIVERY_ACCOUNT } from './account.model.ts';
import { type DeliveryAccount, NUMBERS, type TenantNumbers, type WrongAccount } from './account.ts';

// An event and its deliveries have ids of the same millisecond and are committed together. The numbers of one snapshot
// are therefore consistent, even while other events are accepted. An unfinished delivery counts as waiting when it has
// a row of the outbox, waits in a crowd, or has a workflow of its generation and a time for its next attempt. Otherwise
// it is stranded.
/** Counts the deliveries of all tenants that were accepted in a span, by state. The times are ISO 8601. */
export const count = many<TenantNumbers, [from: string, to: string]>(`
WITH accepted AS (
  SELECT tenant_id, sum(deliveries) AS n FROM events
  WHERE id >= uuid_of_time($1::timestamptz) AND id < uuid_of_time($2::timestamptz)
  GROUP BY tenant_id
), grouped AS (
  SELECT tenant_id, subscription_id, status, count(*) AS n FROM deliveries
  WHERE id >= uuid_of_time($1::timestamptz) AND id < uuid_of_time($2::timestamptz)
  GROUP BY tenant_id, subscription_id, status
), lost AS (
  SELECT d.tenant_id, d.subscription_id, d.status, count(*) AS n FROM deliveries d
  WHERE d.id >= uuid_of_time($1::timestamptz) AND d.id < uuid_of_time($2::timestamptz) AND d.status IN ('pending', 'retrying')
    AND (d.started_generation IS DISTINCT FROM d.generation OR d.next_attempt_at IS NULL)
    AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.delivery_id = d.id AND o.kind <> 'command')
    AND NOT EXISTS (SELECT 1 FROM crowded_deliveries c WHERE c.delivery_id = d.id)
  GROUP BY d.tenant_id, d.subscription_id, d.status
), shown AS (
  SELECT g.tenant_id, g.n - coalesce(lost.n, 0) AS n, lost.n AS stranded,
    CASE
      WHEN g.status NOT IN ('pending', 'retrying') THEN g.status
      WHEN p.deleted THEN 'canceled'
      WHEN g.status = 'pending' AND (NOT endpoint_is_open(p) OR p.state = 'down') THEN 'held'
      ELSE 'waiting'
    END AS state
  FROM grouped g
  LEFT JOIN endpoints p ON p.subscription_id = g.subscription_id
  LEFT JOIN lost ON lost.tenant_id = g.tenant_id AND lost.subscription_id = g.subscription_id AND lost.status = g.status
    AND p.deleted IS NOT TRUE
), summed AS (
  SELECT tenant_id,
    coalesce(sum(n) FILTER (WHERE state = 'delivered'), 0) AS delivered, coalesce(sum(n) FILTER (WHERE state = 'waiting'), 0) AS waiting,
    coalesce(sum(n) FILTER (WHERE state = 'held'), 0) AS held, coalesce(sum(n) FILTER (WHERE state = 'failed'), 0) AS failed,
    coalesce(sum(n) FILTER (WHERE state = 'canceled'), 0) AS canceled, coalesce(sum(stranded), 0) AS stranded
  FROM shown GROUP BY tenant_id
)
SELECT coalesce(t.tenant_id, s.tenant_id) AS tenant_id, coalesce(t.n, 0)::float8 AS accepted,
  coalesce(s.delivered, 0)::float8 AS delivered, coalesce(s.waiting, 0)::float8 AS waiting, coalesce(s.held, 0)::float8 AS held,
  coalesce(s.failed, 0)::float8 AS failed, coalesce(s.canceled, 0)::float8 AS canceled, coalesce(s.stranded, 0)::float8 AS stranded
FROM accepted t FULL JOIN summed s ON s.tenant_id = t.tenant_id`);

const COLUMNS = batchOf(DELIVERY_ACCOUNT, ['tenantId', ...NUMBERS]);

// `accepted` never shrinks, so that a later count that finds fewer events shows a loss. A count adds the
// deliveries that retention has removed; it leaves an account from which retention removed some meanwhile.
const saveAll = many<WrongAccount, [day: string, tookMs: number, ...columns: unknown[][]]>(`
WITH counted AS (
  SELECT * FROM ${COLUMNS.from('c', 3)}
  UNION ALL
  SELECT tenant_id, accepted - gone_accepted, 0, 0, 0, 0, 0, 0 FROM delivery_accounts WHERE day = $1::date AND tenant_id <> ALL ($3::uuid[])
), saved AS (
  INSERT INTO delivery_accounts AS a (tenant_id, day, accepted, delivered, waiting, held, failed, canceled, stranded)
  SELECT tenant_id, $1::date, accepted, delivered, waiting, held, failed, canceled, stranded FROM counted ORDER BY tenant_id
  ON CONFLICT (tenant_id, day) DO UPDATE SET accepted = greatest(a.accepted, excluded.accepted + a.gone_accepted),
    delivered = excluded.delivered + a.gone_delivered, waiting = excluded.waiting, held = excluded.held,
    failed = excluded.failed + a.gone_failed, canceled = excluded.canceled + a.gone_canceled, stranded = excluded.stranded, counted_at = now()
  WHERE a.gone_at IS NULL OR a.gone_at < now() - interval '1 minute' - $2::int * interval '1 millisecond'
  RETURNING tenant_id, accepted, delivered, waiting, held, failed, canceled, stranded, difference
), noted AS (
  INSERT INTO delivery_account_days (day, counted_at, took_ms) VALUES ($1::date, now(), $2)
  ON CONFLICT (day) DO UPDATE SET counted_at = now(), took_ms = excluded.took_ms
)
SELECT tenant_id, $1::date::text AS day, accepted, delivered, waiting, held, failed, canceled, stranded, coalesce(difference, 0) AS difference
FROM saved WHERE difference <> 0 ORDER BY tenant_id`);

/** Stores the accounts of a day. @returns the accounts with a difference */
export function save(
  queryable: Queryable,
  { day, tookMs }: { day: string; tookMs: number },
  numbers: readonly TenantNumbers[],
): Promise<WrongAccount[]> {
  return saveAll(queryable, day, Math.round(tookMs), ...COLUMNS.of(numbers));
}

type Gone = 'accepted' | 'delivered' | 'failed' | 'canceled';

const GONE = columnsOf<{ day: string } & Readonly<Record<Gone, number>>>({
  text: ['day'],
  int: ['accepted', 'delivered', 'failed', 'canceled'],
});

const addGone = changed<[tenantId: string, ...columns: unknown[][]]>(`
INSERT INTO delivery_accounts AS a (tenant_id, day, accepted, delivered, waiting, held, failed, canceled, stranded,
  gone_accepted, gone_delivered, gone_failed, gone_canceled, gone_at)
SELECT $1, day::date, 0, 0, 0, 0, 0, 0, 0, sum(accepted), sum(delivered), sum(failed), sum(canceled), now() FROM ${GONE.from('g', 2)}
GROUP BY day ORDER BY day
ON CONFLICT (tenant_id, day) DO UPDATE SET gone_accepted = a.gone_accepted + excluded.gone_accepted,
  gone_delivered = a.gone_delivered + excluded.gone_delivered, gone_failed = a.gone_failed + excluded.gone_failed,
  gone_canceled = a.gone_canceled + excluded.gone_canceled, gone_at = now()`);

/** Notes what is removed of a tenant's days, in the transaction that removes it. */
export async function noteGone(
  unit: Queryable,
  tenantId: string,
  numbers: readonly ({ readonly day: string } & Partial<Readonly<Record<Gone, number>>>)[],
): Promise<void> {
  const none = { accepted: 0, delivered: 0, failed: 0, canceled: 0 };
  await addGone(unit, tenantId, ...GONE.of(numbers.map((one) => ({ ...none, ...one }))));
}

/** Notes that the rows of a day go, so that the day is not counted again. */
export const close = changed<[day: string]>(`
INSERT INTO delivery_account_days (day, counted_at, took_ms) VALUES ($1::date, 'infinity', 0)
ON CONFLICT (day) DO UPDATE SET counted_at = excluded.counted_at`);

/**
 * Lists the days that are due for a count, the newest first: among today and the last `days`. Today and yesterday are
 * counted again after 20 times as long as their last count took. Older days are counted daily.
 */
export const due = many<{ readonly day: string }, [days: number]>(`
SELECT series.at::date::text AS day
FROM (SELECT (now() AT TIME ZONE 'UTC')::date AS today) AS clock,
     generate_series(today - $1::int, today, interval '1 day') AS series (at)
LEFT JOIN delivery_account_days c ON c.day = series.at::date
WHERE c.day IS NULL OR c.counted_at <= now() - CASE
  WHEN c.day >= today - 1 THEN c.took_ms * interval '20 milliseconds' ELSE interval '1 day' END
ORDER BY series.at DESC`);

/** Lists a tenant's accounts, the newest first. `since` is inclusive, `until` exclusive; days as `2026-11-21`. */
export const list = many<
  DeliveryAccount,
  [tenantId: string, since: string | undefined, until: string | undefined]
>(`
SELECT day::text AS day, accepted, delivered, waiting, held, failed, canceled, stranded, coalesce(difference, 0) AS difference, counted_at
FROM delivery_accounts WHERE tenant_id = $1 AND ($2::date IS NULL OR day >= $2) AND ($3::date IS NULL OR day < $3)
ORDER BY day DESC LIMIT 1000`);

const OLD = `day < (now() AT TIME ZONE 'UTC')::date - $1::int`;

const purgeDays = counted<[days: number]>(`DELETE FROM delivery_account_days WHERE ${OLD}`);

const wrongAccounts = (number: string) =>
  countBreaches(
    "day::timestamp AT TIME ZONE 'UTC'",
    `FROM delivery_accounts WHERE difference <> 0 AND ${number} <> 0 AND day >= (now() AT TIME ZONE 'UTC')::date - ${KEPT_DAYS + 1}`,
    { number },
  );

/** Deliveries that were accepted and are not there, by the accounts of the days that are kept. */
export const findLost = wrongAccounts('abs(difference - stranded)');

/** Unfinished deliveries that nothing moves, by the same accounts. */
export const findStranded = wrongAccounts('stranded');

/** When a day was counted last. Before the first count nothing is late. */
export const findUncounted = countBreaches(
  'counted_at',
  `FROM (SELECT max(counted_at) AS counted_at FROM delivery_account_days WHERE counted_at < 'infinity') AS last`,
);

const purgeAccounts = counted<[days: number, limit: number]>(`
DELETE FROM delivery_accounts WHERE (tenant_id, day) IN (
  SELECT tenant_id, day FROM delivery_accounts WHERE ${OLD} ORDER BY day LIMIT $2)`);

/** Deletes accounts that are older than `days`. @returns how many accounts, at most `limit` */
export async function purge(queryable: Queryable, days: number, limit: number): Promise<number> {
  await purgeDays(queryable, days);
  return purgeAccounts(queryable, days, limit);
}

// SQL that decides whether an anchor's proof may be checked now. It postpones the check while the host is held or the
// tenant suspended, and limits the rate of checks for each domain.
import { done, one } from '../../platform/database/statements.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import type { CheckedAnchor } from './anchor-check.store.ts';
import { LEAST_PAUSE_MS } from './anchor-check.ts';

/** Milliseconds: a postponed check is due again after at most this time, so the end of a hold is noticed by then. */
const HELD_MS = 3_600_000;

/** Takes an advisory lock for the tenant and the domain. */
const lock = done<[tenantId: string, id: string]>(`
SELECT pg_advisory_xact_lock(hashtextextended('anchor look ' || tenant_id || ' ' || value, 0)) FROM anchors
WHERE id = $2 AND tenant_id = $1`);

// Checks that are due at the same time are postponed by random times, so that they are not due at the same time again.
const read = one<
  { heldMs: number | null; busyMs: number | null },
  [tenantId: string, id: string, heldMs: number, pauseMs: number]
>(`
SELECT CASE WHEN held_until IS NOT NULL THEN extract(epoch FROM
    least(held_until + random() * interval '1 minute', now() + $3::float8 * interval '1 millisecond') - now())::float8 * 1000
  END AS held_ms,
  CASE WHEN pace.latest > now() - pause THEN extract(epoch FROM
    greatest(pause, least(interval '1 hour', pause * (1 + random() * pace.due), CASE anchor.status WHEN 'pending' THEN anchor.expires_at - now() - pause END)))::float8 * 1000
  END AS busy_ms
FROM anchors anchor JOIN tenants tenant ON tenant.id = anchor.tenant_id
CROSS JOIN LATERAL (SELECT $4::float8 * interval '1 millisecond' AS pause) AS setting
CROSS JOIN LATERAL (
  SELECT max(other.looked_at) AS latest,
    count(*) FILTER (WHERE other.status IN ('pending', 'verified') AND other.next_check_at <= now() + pause) AS due
  FROM anchors other WHERE other.tenant_id = anchor.tenant_id AND other.value = anchor.value AND other.id <> anchor.id
) AS pace
CROSS JOIN LATERAL (
  SELECT max(until) AS held_until FROM (VALUES
    (host_hold_end(anchor.value)),
    (CASE anchor.type WHEN 'domain_dns' THEN host_hold_end('_countersign.' || anchor.value) END),
    (CASE WHEN tenant.suspended_at IS NOT NULL THEN timestamptz 'infinity' END)
  ) AS hold (until) WHERE until > now()
) AS holds
WHERE anchor.id = $2 AND anchor.tenant_id = $1`);

// While a check is postponed, the proof does not count as missing. A pending anchor ends later by the same time.
const GO_ON = `missing_since = missing_since + coalesce(now() - put_off_at, interval '0')`;
const LEFT = `expires_at + coalesce(now() - put_off_at, interval '0')`;

const begin = done<[id: string]>(`
UPDATE anchors SET ${GO_ON}, expires_at = CASE status WHEN 'pending' THEN ${LEFT} ELSE expires_at END,
  looked_at = now(), put_off_at = NULL
WHERE id = $1`);

// A pending anchor is extended, so that it cannot end before the end of the hold is noticed.
const putOff = done<[id: string, ms: number]>(`
UPDATE anchors SET ${GO_ON},
  expires_at = CASE status WHEN 'pending' THEN greatest(${LEFT}, now() + ($2::float8 + 300000) * interval '1 millisecond') ELSE expires_at END,
  next_check_at = now() + $2::float8 * interval '1 millisecond', put_off_at = now()
WHERE id = $1`);

const giveWay = done<[id: string, ms: number]>(
  `UPDATE anchors SET next_check_at = now() + $2::float8 * interval '1 millisecond' WHERE id = $1`,
);

/**
 * Begins the check of an anchor's proof, or postpones it. The delay is at most an hour while the host is held or the
 * tenant suspended, and this time does not count for the anchor. The delay is at least five seconds when the tenant's
 * last check of the same domain was less than five seconds ago.
 * @returns whether the check may begin; true also for an unknown anchor
 */
export async function take(unit: Transaction, { tenantId, id }: CheckedAnchor): Promise<boolean> {
  await lock(unit, tenantId, id);
  const { heldMs = null, busyMs = null } = (await read(unit, tenantId, id, HELD_MS, LEAST_PAUSE_MS)) ?? {};
  if (heldMs !== null) await putOff(unit, id, heldMs);
  else if (busyMs !== null) await giveWay(unit, id, busyMs);
  else await begin(unit, id);
  return heldMs === null && busyMs === null;
}

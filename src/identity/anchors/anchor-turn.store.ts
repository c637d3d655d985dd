// SQL that decides whether an anchor's proof may be checked now: not while its host is held or its tenant suspended,
// and at a limited pace for each domain.
import type { Transaction } from '../../platform/database/transaction.ts';
import type { CheckedAnchor } from './anchor-check.store.ts';
import { LEAST_PAUSE_MS } from './anchor-check.ts';

/** Longest time in milliseconds until the end of a hold is noticed. */
const HELD_MS = 3_600_000;

/** A lock for each tenant and domain. */
const LOCK = `
SELECT pg_advisory_xact_lock(hashtextextended('anchor look ' || tenant_id || ' ' || value, 0)) FROM anchors
WHERE id = $1 AND tenant_id = $2`;

// Anchors that are due at the same time are put off by random times, so that they do not collide again.
const READ = `
SELECT CASE WHEN held_until IS NOT NULL THEN extract(epoch FROM
    least(held_until + random() * interval '1 minute', now() + $3::float8 * interval '1 millisecond') - now())::float8 * 1000
  END AS "heldMs",
  CASE WHEN pace.latest > now() - pause THEN extract(epoch FROM
    greatest(pause, least(interval '1 hour', pause * (1 + random() * pace.due), CASE anchor.status WHEN 'pending' THEN anchor.expires_at - now() - pause END)))::float8 * 1000
  END AS "busyMs"
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
WHERE anchor.id = $1 AND anchor.tenant_id = $2`;

// The time since the check was put off does not count as missing, and extends a pending anchor.
const GO_ON = `missing_since = missing_since + coalesce(now() - put_off_at, interval '0')`;
const LEFT = `expires_at + coalesce(now() - put_off_at, interval '0')`;

const BEGIN = `
UPDATE anchors SET ${GO_ON}, expires_at = CASE status WHEN 'pending' THEN ${LEFT} ELSE expires_at END,
  looked_at = now(), put_off_at = NULL
WHERE id = $1`;

// A pending anchor is extended, so that it cannot end before the end of the hold is noticed.
const PUT_OFF = `
UPDATE anchors SET ${GO_ON},
  expires_at = CASE status WHEN 'pending' THEN greatest(${LEFT}, now() + ($2::float8 + 300000) * interval '1 millisecond') ELSE expires_at END,
  next_check_at = now() + $2::float8 * interval '1 millisecond', put_off_at = now()
WHERE id = $1`;

const GIVE_WAY = `UPDATE anchors SET next_check_at = now() + $2::float8 * interval '1 millisecond' WHERE id = $1`;

/**
 * Begins the check of an anchor's proof, or puts it off: by at most an hour while its host is held or its tenant
 * suspended, and that time does not count for the anchor; by five seconds or more when another anchor of the tenant for
 * the same domain was checked within five seconds.
 * @returns whether the check may begin; true for an unknown anchor too
 */
export async function take(unit: Transaction, { tenantId, id }: CheckedAnchor): Promise<boolean> {
  await unit.query(LOCK, [id, tenantId]);
  const { rows } = await unit.query<{ heldMs: number | null; busyMs: number | null }>(READ, [
    id,
    tenantId,
    HELD_MS,
    LEAST_PAUSE_MS,
  ]);
  const { heldMs = null, busyMs = null } = rows[0] ?? {};
  if (heldMs !== null) await unit.query(PUT_OFF, [id, heldMs]);
  else if (busyMs !== null) await unit.query(GIVE_WAY, [id, busyMs]);
  else await unit.query(BEGIN, [id]);
  return heldMs === null && busyMs === null;
}

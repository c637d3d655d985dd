// SQL of permits and tokens: how many attempts may begin at an endpoint that is paced or has a rate.
import { changed, counted, one } from '../../platform/database/statements.ts';
import type { Queryable } from '../../platform/database/transaction.ts';

/** Spends permits and tokens for the rows of `claimed`, of endpoints that the expression `gate` has locked. */
export const SPEND_PERMITS = `
UPDATE endpoints p SET permits = CASE WHEN p.permits IS NOT NULL THEN greatest(0, g.permits - c.rows) END, permits_at = now(),
  tokens = coalesce(g.tokens - c.rows, p.tokens), tokens_at = greatest(p.tokens_at, now())
FROM (SELECT endpoint, count(*)::int AS rows FROM claimed GROUP BY endpoint) AS c JOIN gate g ON g.subscription_id = c.endpoint
WHERE p.subscription_id = c.endpoint`;

const give = counted<[endpoints: readonly string[], epochs: readonly number[]]>(`
WITH given AS (
  SELECT p.subscription_id, r.rows FROM (
    SELECT endpoint, epoch, count(*)::int AS rows FROM unnest($1::uuid[], $2::bigint[]) AS w (endpoint, epoch) GROUP BY endpoint, epoch
  ) AS r JOIN endpoints p ON p.subscription_id = r.endpoint AND p.epoch = r.epoch AND p.permits IS NOT NULL
  ORDER BY p.subscription_id FOR UPDATE OF p
)
UPDATE endpoints p SET permits = p.permits + given.rows, permits_at = now()
FROM given WHERE p.subscription_id = given.subscription_id`);

/** Returns the permits of claims that began no attempt, unless the endpoint has closed since. */
export async function refund(
  queryable: Queryable,
  work: readonly { readonly endpoint: string; readonly epoch: number; readonly paced: boolean }[],
): Promise<number> {
  const paced = work.filter((row) => row.paced);
  if (paced.length === 0) return 0;
  const endpoints = paced.map(({ endpoint }) => endpoint);
  return give(
    queryable,
    endpoints,
    paced.map(({ epoch }) => epoch),
  );
}

/** Returns the permit of an attempt that is not made. @returns whether the endpoint was paced at this epoch */
export const returnPermit = async (queryable: Queryable, endpoint: string, epoch: number): Promise<boolean> =>
  (await refund(queryable, [{ endpoint, epoch, paced: true }])) > 0;

/**
 * Lets one attempt begin as a relay's claim does, at an open endpoint that is paced or has a rate and for which nothing
 * waits: rows of the outbox come before a retry that no relay let begin.
 * @returns the endpoint's epoch; undefined when no attempt may begin
 */
export const takePermit = one<{ epoch: number }, [subscriptionId: string]>(`
UPDATE endpoints p SET permits = endpoint_permits(p) - 1, permits_at = now(),
  tokens = coalesce(endpoint_tokens(p) - 1, p.tokens), tokens_at = greatest(p.tokens_at, now())
WHERE p.subscription_id = $1 AND endpoint_is_open(p) AND (p.permits IS NOT NULL OR p.rate IS NOT NULL)
  AND coalesce(endpoint_permits(p) > 0, true) AND coalesce(endpoint_tokens(p) >= 1, true)
  AND NOT EXISTS (SELECT FROM outbox o WHERE o.tenant_id = p.tenant_id AND o.endpoint = p.subscription_id
    AND o.claimed_by IS NULL AND o.kind <> 'command')
RETURNING p.epoch`);

/** Counts an attempt against the endpoint's rate. The claim of a relay has counted its attempts already. */
export const spendToken = changed<[subscriptionId: string]>(`
UPDATE endpoints SET tokens = endpoint_tokens(endpoints) - 1, tokens_at = greatest(tokens_at, now())
WHERE subscription_id = $1 AND rate IS NOT NULL`);

// SQL of signing secrets and their rotation. Both secrets of a row are sealed in the same way, so the next one can take
// over without a new seal.
import type { Queryable } from '../../platform/database/transaction.ts';
import { listBy } from '../../platform/temporal/expected-workflows.ts';
import type { SecretCase } from './signing-secret.ts';

export type SecretRow = SecretCase & {
  readonly id: string;
  readonly host: string;
  readonly eventTypes: readonly string[];
  readonly secretSealed: Buffer;
  readonly nextSecretSealed: Buffer | null;
};

type Name = { readonly tenantId: string; readonly subscriptionId: string };

const READ = `
SELECT id, host, event_types AS "eventTypes", secret_sealed AS "secretSealed", next_secret_sealed AS "nextSecretSealed",
  secret_overlap_ends_at AS "overlapEndsAt", clock_timestamp()::timestamptz(3) AS now
FROM subscriptions WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL`;

const BEGIN = `
UPDATE subscriptions SET next_secret_sealed = $2, updated_at = now(),
  secret_overlap_ends_at = clock_timestamp() + $3::float8 * interval '1 second'
WHERE id = $1 RETURNING secret_overlap_ends_at AS "overlapEndsAt"`;

const REPLACE = `
UPDATE subscriptions SET secret_sealed = $2, next_secret_sealed = NULL, secret_overlap_ends_at = NULL, updated_at = now()
WHERE id = $1 RETURNING clock_timestamp()::timestamptz(3) AS "overlapEndsAt"`;

const TAKE_OVER = `
UPDATE subscriptions SET secret_sealed = next_secret_sealed, next_secret_sealed = NULL, secret_overlap_ends_at = NULL,
  updated_at = now()
WHERE id = $1 AND next_secret_sealed IS NOT NULL`;

const EXPECTED = `
SELECT tenant_id AS "tenantId", id AS "entityId" FROM subscriptions
WHERE secret_overlap_ends_at IS NOT NULL AND deleted_at IS NULL AND id > $1 ORDER BY id LIMIT $2`;

const read = async (queryable: Queryable, name: Name, lock: string): Promise<SecretRow | undefined> =>
  (await queryable.query<SecretRow>(READ + lock, [name.tenantId, name.subscriptionId])).rows[0];

const end = async (queryable: Queryable, text: string, values: readonly unknown[]): Promise<Date> => {
  const { rows } = await queryable.query<{ overlapEndsAt: Date }>(text, values);
  if (rows[0] === undefined) throw new Error('the subscription vanished although it was locked');
  return rows[0].overlapEndsAt;
};

/** @returns undefined for a subscription that is deleted or another tenant's */
export function find(queryable: Queryable, name: Name): Promise<SecretRow | undefined> {
  return read(queryable, name, '');
}

/** Counts overlaps that ended more than 5 minutes ago and whose new secret has not taken over. */
export async function countOverdue(queryable: Queryable): Promise<number> {
  const { rows } = await queryable.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM subscriptions
         WHERE next_secret_sealed IS NOT NULL AND deleted_at IS NULL AND secret_overlap_ends_at < now() - interval '5 minutes'`,
  );
  return rows[0]?.count ?? 0;
}

/** Reads the secrets and locks their row until the transaction ends. */
export function lock(unit: Queryable, name: Name): Promise<SecretRow | undefined> {
  return read(unit, name, ' FOR NO KEY UPDATE');
}

/** Stores a next secret in a row that the caller has locked. @returns when it takes over */
export function begin(unit: Queryable, id: string, next: Buffer, overlapSeconds: number): Promise<Date> {
  return end(unit, BEGIN, [id, next, overlapSeconds]);
}

/** Makes a secret the only one in a row that the caller has locked. @returns the current time */
export function replace(unit: Queryable, id: string, secret: Buffer): Promise<Date> {
  return end(unit, REPLACE, [id, secret]);
}

/** Lists subscriptions with an overlap, or with an ended overlap whose new secret has not taken over. */
export const listExpectedWorkflows = listBy(EXPECTED);

/** Makes the next secret of a locked row the current one. */
export async function takeOver(unit: Queryable, id: string): Promise<void> {
  await unit.query(TAKE_OVER, [id]);
}

// SQL of signing secrets and their rotation. Both secrets of a row are sealed in the same way, so the next one can take
// over without a new seal.
import { countBreaches } from '../../platform/database/breach.ts';
import { changed, one, value } from '../../platform/database/statements.ts';
import { listBy } from '../../platform/temporal/expected-workflows.ts';
import type { SecretCase } from './signing-secret.ts';
import type { SubscriptionRow } from './subscription.model.ts';

export type SecretRow = SecretCase &
  Pick<SubscriptionRow, 'id' | 'host' | 'eventTypes' | 'secretSealed' | 'nextSecretSealed'>;

type Name = [tenantId: string, subscriptionId: string];
const READ = `
SELECT id, host, event_types, secret_sealed, next_secret_sealed,
  secret_overlap_ends_at AS overlap_ends_at, clock_timestamp()::timestamptz(3) AS now
FROM subscriptions WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL`;

/** @returns undefined for a subscription that is deleted or another tenant's */
export const find = one<SecretRow, Name>(READ);

/** Overlaps that have ended and whose new secret has not taken over. */
export const findOverdue = countBreaches(
  'secret_overlap_ends_at',
  'FROM subscriptions WHERE next_secret_sealed IS NOT NULL AND deleted_at IS NULL',
);

/** Reads the secrets and locks their row until the transaction ends. */
export const lock = one<SecretRow, Name>(`${READ} FOR NO KEY UPDATE`);

/** Stores a next secret in a row that the caller has locked. @returns when it takes over */
export const begin = value<Date, [id: string, next: Buffer, overlapSeconds: number]>(`
WITH overlap AS (SELECT (clock_timestamp() + $3::float8 * interval '1 second')::timestamptz(3) AS ends_at)
UPDATE subscriptions SET next_secret_sealed = $2, updated_at = now(), secret_overlap_ends_at = overlap.ends_at
FROM overlap WHERE id = $1 RETURNING overlap.ends_at`);

/** Makes a secret the only one in a row that the caller has locked. @returns the current time */
export const replace = value<Date, [id: string, secret: Buffer]>(`
UPDATE subscriptions SET secret_sealed = $2, next_secret_sealed = NULL, secret_overlap_ends_at = NULL, updated_at = now()
WHERE id = $1 RETURNING clock_timestamp()::timestamptz(3)`);

/** Lists subscriptions with an overlap, or with an ended overlap whose new secret has not taken over. */
export const listExpectedWorkflows = listBy(`
SELECT tenant_id, id AS entity_id FROM subscriptions
WHERE secret_overlap_ends_at IS NOT NULL AND deleted_at IS NULL AND id > $1 ORDER BY id LIMIT $2`);

/** Makes the next secret of a locked row the current one. */
export const takeOver = changed<[id: string]>(`
UPDATE subscriptions SET secret_sealed = next_secret_sealed, next_secret_sealed = NULL, secret_overlap_ends_at = NULL,
  updated_at = now()
WHERE id = $1 AND next_secret_sealed IS NOT NULL`);

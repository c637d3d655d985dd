// SQL of idempotency_keys and of the lock on one key. It runs in the caller's transaction, so that work and answer
// commit together.
import { type KeyScope, lockNameOf, valuesOf } from '../answer-key.ts';
import { deleteOldest } from '../database/deletion.ts';
import { done, one, value } from '../database/statements.ts';
import type { RowOf } from '../database/table.ts';
import type { Queryable } from '../database/transaction.ts';
import type { IDEMPOTENCY_KEY } from './http.model.ts';

/** `digest`: hash of the request. `body`: the answer's JSON text, byte for byte. */
export type StoredAnswer = Pick<RowOf<typeof IDEMPOTENCY_KEY>, 'status' | 'headers' | 'body'> & {
  readonly digest: Uint8Array;
};

const tryLock = value<boolean, [name: string]>('SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))');

/** Takes the lock of the key until the end of the transaction. @returns false when another request holds it */
export const lock = (unit: Queryable, scope: KeyScope): Promise<boolean> => tryLock(unit, lockNameOf(scope));

type Key = ReturnType<typeof valuesOf>;

const findRow = one<StoredAnswer, Key>(`
SELECT request_digest AS digest, status, headers, body FROM idempotency_keys
WHERE tenant_id = $1 AND principal = $2 AND route = $3 AND key = $4 AND created_at > now() - interval '24 hours'`);

/** @returns the answer for this key from the last 24 hours */
export const find = (unit: Queryable, scope: KeyScope): Promise<StoredAnswer | undefined> =>
  findRow(unit, ...valuesOf(scope));

const saveRow = done<
  [...Key, digest: Uint8Array, status: number, headers: StoredAnswer['headers'], body: string | null]
>(`
INSERT INTO idempotency_keys (tenant_id, principal, route, key, request_digest, status, headers, body)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (tenant_id, principal, route, key) DO UPDATE
SET request_digest = excluded.request_digest, status = excluded.status, headers = excluded.headers,
    body = excluded.body, created_at = now()`);

/** Stores an answer. It replaces an answer that is older than 24 hours. */
export function save(unit: Queryable, scope: KeyScope, answer: StoredAnswer): Promise<void> {
  // A JSON string instead of an object, because jsonb would reorder the members.
  const body = answer.body === null ? null : JSON.stringify(answer.body);
  return saveRow(unit, ...valuesOf(scope), answer.digest, answer.status, answer.headers, body);
}

/** Deletes expired answers. @returns how many, at most `limit` */
export const purge = deleteOldest('idempotency_keys', {
  key: ['tenant_id', 'principal', 'route', 'key'],
  old: `created_at < now() - interval '24 hours'`,
  by: 'created_at',
});

// SQL of idempotency_keys and of the lock on one key. It runs in the caller's transaction, so that work and answer
// commit together.
import { type KeyScope, lockNameOf, valuesOf } from '../answer-key.ts';
import { deleteOldest } from '../database/deletion.ts';
import type { Queryable } from '../database/transaction.ts';

/** `digest`: hash of the request. `body`: the answer's JSON text, byte for byte. */
export type StoredAnswer = {
  readonly digest: Uint8Array;
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string | null;
};

/** Takes the lock of the key until the end of the transaction. @returns false when another request holds it */
export async function lock(unit: Queryable, scope: KeyScope): Promise<boolean> {
  const { rows } = await unit.query<{ locked: boolean }>(
    'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS locked',
    [lockNameOf(scope)],
  );
  return rows[0]?.locked === true;
}

/** @returns the answer for this key from the last 24 hours */
export async function find(unit: Queryable, scope: KeyScope): Promise<StoredAnswer | undefined> {
  const { rows } = await unit.query<StoredAnswer>(
    `SELECT request_digest AS digest, status, headers, body
           FROM idempotency_keys
          WHERE tenant_id = $1 AND principal = $2 AND route = $3 AND key = $4
            AND created_at > now() - interval '24 hours'`,
    valuesOf(scope),
  );
  return rows[0];
}

/** Stores an answer. It replaces an answer that is older than 24 hours. */
export async function save(unit: Queryable, scope: KeyScope, answer: StoredAnswer): Promise<void> {
  await unit.query(
    `INSERT INTO idempotency_keys (tenant_id, principal, route, key, request_digest, status, headers, body)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (tenant_id, principal, route, key) DO UPDATE
            SET request_digest = excluded.request_digest, status = excluded.status, headers = excluded.headers,
                body = excluded.body, created_at = now()`,
    [
      ...valuesOf(scope),
      Buffer.from(answer.digest),
      answer.status,
      JSON.stringify(answer.headers),
      // A JSON string instead of an object, because jsonb would reorder the members.
      answer.body === null ? null : JSON.stringify(answer.body),
    ],
  );
}

/** Deletes expired answers. @returns how many, at most `limit` */
export const purge = deleteOldest('idempotency_keys', {
  key: ['tenant_id', 'principal', 'route', 'key'],
  old: `created_at < now() - interval '24 hours'`,
  by: 'created_at',
});

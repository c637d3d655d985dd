// SQL of the beginning of the audit log.
import { done, many, one, value } from '../platform/database/statements.ts';
import type { Queryable } from '../platform/database/transaction.ts';
import type { AuditBeginningRow } from './audit.model.ts';
import type { Beginning } from './beginning.ts';
import { milliseconds, toTime } from './checkpoint.store.ts';
import type { Signature } from './checkpoint.ts';

/** `signed` is null until `migrate` has signed it. */
export type StoredBeginning = {
  readonly id: string;
  readonly signed: { readonly beginning: Beginning; readonly signature: Signature } | null;
};

const read = one<Pick<AuditBeginningRow, 'id' | 'keyId' | 'signature'> & { readonly beganAt: string | null }>(
  `SELECT id, ${milliseconds('began_at')} AS began_at, key_id, signature FROM audit_beginning`,
);

/** @returns undefined when the row is gone; the service itself never deletes it */
export async function readBeginning(queryable: Queryable): Promise<StoredBeginning | undefined> {
  const row = await read(queryable);
  if (row === undefined) return undefined;
  const { id, beganAt, keyId, signature } = row;
  const isSigned = beganAt !== null && keyId !== null && signature !== null;
  if (!isSigned) return { id, signed: null };
  const beginning = { id, beganAt: toTime(beganAt), keyId };
  return { id, signed: { beginning, signature: { keyId, bytes: signature } } };
}

const lock = done('SELECT 1 FROM audit_beginning FOR UPDATE');
const readClock = value<string>(`SELECT ${milliseconds('now()::timestamptz(3)')} AS now`);

/** Waits for another one that signs, and returns the database's time. */
export async function lockBeginning(unit: Queryable): Promise<string> {
  await lock(unit);
  return toTime(await readClock(unit));
}

/** Names what the database has of a log that began earlier. */
export const listTraces = many<{ name: string }>(`
SELECT name FROM (VALUES
  ('rows', EXISTS (SELECT FROM audit_log)), ('checkpoints', EXISTS (SELECT FROM audit_checkpoints)),
  ('seals', EXISTS (SELECT FROM audit_seals))
) AS t(name, found) WHERE found`);

export const signBeginning = done<[beganAt: string, keyId: string, signature: Uint8Array]>(
  'UPDATE audit_beginning SET began_at = $1, key_id = $2, signature = $3',
);

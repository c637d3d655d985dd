// SQL of the beginning of the audit log.
import type { Queryable } from '../platform/database/transaction.ts';
import type { Beginning } from './beginning.ts';
import { bytes, milliseconds, toTime } from './checkpoint.store.ts';
import type { Signature } from './checkpoint.ts';

/** `signed` is null until `migrate` has signed it. */
export type StoredBeginning = {
  readonly id: string;
  readonly signed: { readonly beginning: Beginning; readonly signature: Signature } | null;
};

const READ = `
SELECT id, ${milliseconds('began_at')} AS "beganAt", key_id AS "keyId", signature FROM audit_beginning`;

/** What a log has that did not begin just now. */
const TRACES = `
SELECT name FROM (VALUES
  ('rows', EXISTS (SELECT FROM audit_log)), ('checkpoints', EXISTS (SELECT FROM audit_checkpoints)),
  ('seals', EXISTS (SELECT FROM audit_seals))
) AS t(name, found) WHERE found`;

type Row = {
  id: string;
  beganAt: string | null;
  keyId: string | null;
  signature: Uint8Array | null;
};

/** @returns undefined when the row is gone; the service itself never deletes it */
export async function readBeginning(queryable: Queryable): Promise<StoredBeginning | undefined> {
  const row = (await queryable.query<Row>(READ)).rows[0];
  if (row === undefined) return undefined;
  const { id, beganAt, keyId, signature } = row;
  const isSigned = beganAt !== null && keyId !== null && signature !== null;
  return {
    id,
    signed: isSigned
      ? {
          beginning: { id, beganAt: toTime(beganAt), keyId },
          signature: { keyId, bytes: signature },
        }
      : null,
  };
}

/** Waits for another one that signs, and returns the database's time. */
export async function lockBeginning(unit: Queryable): Promise<string> {
  await unit.query('SELECT 1 FROM audit_beginning FOR UPDATE');
  const { rows } = await unit.query<{ now: string }>(
    `SELECT ${milliseconds('now()::timestamptz(3)')} AS now`,
  );
  return toTime(rows[0]?.now ?? '');
}

/** Names what the database has of a log that began earlier. */
export async function listTraces(unit: Queryable): Promise<string[]> {
  return (await unit.query<{ name: string }>(TRACES)).rows.map(({ name }) => name);
}

export async function signBeginning(
  unit: Queryable,
  { beganAt, keyId }: Beginning,
  signature: Uint8Array,
): Promise<void> {
  await unit.query('UPDATE audit_beginning SET began_at = $1, key_id = $2, signature = $3', [
    beganAt,
    keyId,
    bytes(signature),
  ]);
}

// SQL that seals the audit log and reads seals. No statement changes a row of the log, a checkpoint or a seal.
import { nestRow } from '../platform/database/nested-row.ts';
import type { Queryable } from '../platform/database/transaction.ts';
import { type AuditRow, ROW_FIELDS, toAuditRow } from './audit-row.ts';
import type { Checkpoint, Head, Position, Seal, Signature } from './checkpoint.ts';

/** Key of the advisory lock that the sealing process holds. The number is arbitrary. */
const LOCK = 6_640_093;

/**
 * A checkpoint with the ids of its rows, in order, and the leaf hashes of the rows, 32 bytes each. `peaks`: roots of
 * the tree's complete subtrees. `nodes`: the kept roots that its rows completed.
 */
export type StoredCheckpoint = Checkpoint & {
  readonly signature: Uint8Array;
  readonly rowIds: readonly string[];
  readonly leaves: Uint8Array;
  readonly peaks: Uint8Array;
  readonly nodes: Uint8Array;
};

/** The last checkpoint of a tenant, with what the next one needs. */
export type LastCheckpoint = Checkpoint & Pick<StoredCheckpoint, 'peaks'>;

export type StoredSeal = Seal & { readonly signature: Uint8Array };

/** `signature` is null until `migrate` signs the beginning. `lastSeal` is the greatest number of a seal, or 0. */
export type StoredHead = Head & { readonly signature: Signature | null; readonly lastSeal: number };

/** Selects rows whose transactions have all ended, so no transaction can insert a row before them. */
export const HORIZON = 'xid < pg_snapshot_xmin(pg_current_snapshot())';

/** SQL that prints a time as decimal milliseconds. The text is exact under all session settings, also for infinity. */
export const milliseconds = (column: string) => `trim_scale(extract(epoch FROM ${column}) * 1000)::text`;

/** The stored digest of the address, as long as the client's address is that one; another text where it was changed. */
const COLUMNS: Readonly<Record<string, string>> = {
  occurred_at: milliseconds('occurred_at'),
  address: `CASE WHEN client_address IS NULL OR address = audit_address(client_address, address_salt) THEN address ELSE 'changed' END`,
};

const FIELDS = ROW_FIELDS.map((field) => COLUMNS[field] ?? `${field}::text`);

/** Selects a row of the log as one JSON array, which costs a fifth of what as many columns cost to read. */
export const ROW = `to_json(ARRAY[${FIELDS.join(', ')}]) AS fields`;

/** A row that was selected by `ROW`. */
export type SelectedRow = { readonly fields: readonly (string | null)[] };

// ORDER BY makes Postgres use the index. Without it, the planner scans the table from its start, and scans all of it
// when every row is sealed.
const UNSEALED = `
SELECT (
  SELECT l.id FROM audit_log l WHERE (l.xid, l.id) > (h.last_xid, h.last_id) AND l.${HORIZON} ORDER BY l.xid, l.id LIMIT 1
) IS NOT NULL AS found, h.key_id IS DISTINCT FROM $1 AS foreign, h.last_xid >= pg_snapshot_xmax(pg_current_snapshot()) AS ahead
FROM audit_head h`;

// Subqueries read the head, because with a join Postgres reads the whole index and filters it.
const UNSEALED_SECONDS = `
SELECT extract(epoch FROM now() - l.occurred_at)::float8 AS seconds FROM audit_log l
WHERE (l.xid, l.id) > ((SELECT last_xid FROM audit_head), (SELECT last_id FROM audit_head)) ORDER BY l.xid, l.id LIMIT 1`;

const HEAD = `
SELECT n, hash, last_xid AS "last.xid", last_id AS "last.id", key_id AS "signature.keyId", signature AS "signature.bytes",
  (SELECT coalesce(max(n), 0) FROM audit_seals) AS "lastSeal"
FROM audit_head`;

const FINISHED_ROWS = `
SELECT ${ROW} FROM audit_log WHERE (xid, id) > ($1::xid8, $2::uuid) AND ${HORIZON} ORDER BY xid, id LIMIT $3`;

export const CHECKPOINT_COLUMNS = `
c.tenant_id AS "tenantId", c.n, c.seal, c.count, c.tree_size AS "treeSize", c.root, c.previous, c.first_xid AS "first.xid", c.first_id AS "first.id",
c.last_xid AS "last.xid", c.last_id AS "last.id", ${milliseconds('c.sealed_at')} AS "sealedAt", c.key_id AS "keyId", c.signature`;

const LAST_CHECKPOINTS = `
SELECT ${CHECKPOINT_COLUMNS}, c.peaks FROM unnest($1::uuid[]) AS t(tenant_id)
CROSS JOIN LATERAL (SELECT * FROM audit_checkpoints WHERE tenant_id = t.tenant_id ORDER BY n DESC LIMIT 1) AS c`;

// The rows are sent as JSON, so one statement inserts the checkpoints of all tenants. Bytes are hexadecimal in the
// JSON.
const INSERT_COLUMNS = `tenant_id, n, seal, count, tree_size, root, previous, first_xid, first_id, last_xid, last_id, sealed_at,
  key_id, signature, row_ids, leaves, peaks, nodes`;

const INSERT_CHECKPOINTS = `
INSERT INTO audit_checkpoints (${INSERT_COLUMNS})
SELECT tenant_id, n, seal, count, tree_size, root, previous, first_xid::xid8, first_id, last_xid::xid8, last_id,
  sealed_at, key_id, signature, row_ids, leaves, peaks, nodes
FROM jsonb_to_recordset($1::jsonb) AS c(tenant_id uuid, n bigint, seal bigint, count int, tree_size bigint,
  root bytea, previous bytea, first_xid text, first_id uuid, last_xid text, last_id uuid, sealed_at timestamptz, key_id text,
  signature bytea, row_ids uuid[], leaves bytea, peaks bytea, nodes bytea)`;

const INSERT_SEAL = `
INSERT INTO audit_seals (n, previous, count, last_xid, last_id, tenants, numbers, hashes, sealed_at, key_id, signature)
VALUES ($1, $2, $3, $4, $5, $6::uuid[], $7::bigint[], $8::bytea[], $9, $10, $11)`;

/** The reason not to seal without a head: a new head would hide that seals were deleted together with the old head. */
export const HEADLESS = 'the head of the audit log is missing: nothing more is sealed';
const GONE_BACK =
  'transaction ids have gone back behind the sealed audit log (was it restored into another cluster?): nothing more is sealed';

export type SignedCheckpoint = Checkpoint & { readonly signature: Uint8Array };

/**
 * Returns whether the sealer has something to do: unsealed rows, or a head that another key has signed. Reads one index
 * entry.
 * @throws when transaction ids are lower than sealed ones (a restored database), because rows would be in a wrong order
 */
export async function hasWork(queryable: Queryable, keyId: string): Promise<boolean> {
  const { rows } = await queryable.query<Record<'found' | 'foreign' | 'ahead', boolean>>(UNSEALED, [keyId]);
  const [work] = rows;
  if (work === undefined) throw new Error(HEADLESS);
  if (work.ahead) throw new Error(GONE_BACK);
  return work.found || work.foreign;
}

/** Returns the age in seconds of the oldest unsealed row, or 0 when every row is sealed. Reads one index entry. */
export async function unsealedSeconds(queryable: Queryable): Promise<number> {
  return (await queryable.query<{ seconds: number }>(UNSEALED_SECONDS)).rows[0]?.seconds ?? 0;
}

/** Locks sealing until the transaction ends. @returns the database's time, or null when another process seals */
export async function tryLock(unit: Queryable): Promise<{ now: string } | null> {
  const { rows } = await unit.query<{ locked: boolean; now: string }>(
    `SELECT pg_try_advisory_xact_lock($1) AS locked, ${milliseconds('now()::timestamptz(3)')} AS now`,
    [LOCK],
  );
  return rows[0]?.locked ? { now: toTime(rows[0].now) } : null;
}

/** @returns undefined when the row of the head was deleted; the service itself never deletes it */
export async function readHead(queryable: Queryable): Promise<StoredHead | undefined> {
  const { rows } = await queryable.query(HEAD);
  if (rows[0] === undefined) return undefined;
  const { signature, ...head } = nestRow<StoredHead & { signature: Signature | { keyId: null } }>(rows[0]);
  return { ...head, signature: signature.keyId === null ? null : signature };
}

/** Lists the rows after a position whose transactions have all ended, in the order of sealing. */
export async function listFinishedRows(
  queryable: Queryable,
  after: Position,
  limit: number,
): Promise<AuditRow[]> {
  const { rows } = await queryable.query<SelectedRow>(FINISHED_ROWS, [after.xid, after.id, limit]);
  return rows.map(({ fields }) => toAuditRow(fields));
}

/** Returns the last checkpoint of each of these tenants. Tenants without a checkpoint are left out. */
export async function listLastCheckpoints(
  queryable: Queryable,
  tenantIds: readonly string[],
): Promise<LastCheckpoint[]> {
  const { rows } = await queryable.query(LAST_CHECKPOINTS, [tenantIds]);
  return rows.map((row) => toCheckpoint<LastCheckpoint>(row));
}

export async function insertCheckpoints(
  unit: Queryable,
  checkpoints: readonly StoredCheckpoint[],
): Promise<void> {
  await unit.query(INSERT_CHECKPOINTS, [JSON.stringify(checkpoints.map(toInsert))]);
}

export async function insertSeal(unit: Queryable, seal: StoredSeal): Promise<void> {
  const { n, previous, count, last, checkpoints, sealedAt, keyId, signature } = seal;
  await unit.query(INSERT_SEAL, [
    ...[n, bytes(previous), count, last.xid, last.id],
    checkpoints.map(({ tenantId }) => tenantId),
    checkpoints.map(({ n: number }) => number),
    checkpoints.map(({ hash }) => bytes(hash)),
    ...[sealedAt, keyId, bytes(signature)],
  ]);
}

/** Sets the head to the seal that was just made, or signs it anew. */
export async function moveHead(
  unit: Queryable,
  { n, hash, last }: Head,
  signature: Signature,
): Promise<void> {
  const { rowCount } = await unit.query(
    'UPDATE audit_head SET n = $1, hash = $2, last_xid = $3, last_id = $4, key_id = $5, signature = $6',
    [n, bytes(hash), last.xid, last.id, signature.keyId, bytes(signature.bytes)],
  );
  if (rowCount !== 1) throw new Error(HEADLESS);
}

/** Stores a public key, so that its signatures can be verified after its audit key was removed. */
export async function keepKey(unit: Queryable, keyId: string, publicKey: Uint8Array): Promise<void> {
  await unit.query('INSERT INTO audit_signing_keys (id, public_key) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
    keyId,
    bytes(publicKey),
  ]);
}

/** Returns all public keys by key id; each audit key has one. */
export async function readKeys(queryable: Queryable): Promise<Map<string, Uint8Array>> {
  const { rows } = await queryable.query<{ id: string; publicKey: Buffer }>(
    'SELECT id, public_key AS "publicKey" FROM audit_signing_keys ORDER BY created_at, id',
  );
  return new Map(rows.map(({ id, publicKey }) => [id, new Uint8Array(publicKey)]));
}

/** Lists a tenant's checkpoints, newest first. @param before only checkpoints with a lower number */
export async function listNewestCheckpoints(
  queryable: Queryable,
  tenantId: string,
  { before, limit }: { before: number | undefined; limit: number },
): Promise<SignedCheckpoint[]> {
  const { rows } = await queryable.query(
    `SELECT ${CHECKPOINT_COLUMNS} FROM audit_checkpoints c
         WHERE c.tenant_id = $1 AND c.n < coalesce($2::bigint, 9223372036854775807) ORDER BY c.n DESC LIMIT $3`,
    [tenantId, before ?? null, limit],
  );
  return rows.map((row) => toCheckpoint(row));
}

/** Converts bytes to a Buffer, because pg sends a plain Uint8Array inside an array as text. */
export const bytes = (value: Uint8Array) => Buffer.from(value.buffer, value.byteOffset, value.byteLength);

const hex = (value: Uint8Array) => `\\x${bytes(value).toString('hex')}`;

const toInsert = (checkpoint: StoredCheckpoint) => ({
  tenant_id: checkpoint.tenantId,
  n: checkpoint.n,
  seal: checkpoint.seal,
  count: checkpoint.count,
  tree_size: checkpoint.treeSize,
  root: hex(checkpoint.root),
  previous: hex(checkpoint.previous),
  first_xid: checkpoint.first.xid,
  first_id: checkpoint.first.id,
  last_xid: checkpoint.last.xid,
  last_id: checkpoint.last.id,
  sealed_at: checkpoint.sealedAt,
  key_id: checkpoint.keyId,
  signature: hex(checkpoint.signature),
  row_ids: checkpoint.rowIds,
  leaves: hex(checkpoint.leaves),
  peaks: hex(checkpoint.peaks),
  nodes: hex(checkpoint.nodes),
});

/** Converts decimal milliseconds to RFC 3339. A value outside the calendar is returned unchanged. */
export function toTime(text: string): string {
  const date = new Date(Number(text));
  return Number.isNaN(date.getTime()) ? text : date.toISOString();
}

/** Converts a row to a checkpoint. Further columns of the row are kept. */
export function toCheckpoint<More extends object>(row: object): SignedCheckpoint & More {
  const nested = nestRow<SignedCheckpoint & More>(row);
  return { ...nested, sealedAt: toTime(nested.sealedAt) };
}

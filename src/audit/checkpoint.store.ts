// SQL that seals the audit log and reads seals. No statement changes a row of the log, a checkpoint or a seal.
import { inSnakeCase } from '../platform/columns.ts';
import { countBreaches } from '../platform/database/breach.ts';
import { type Flat, nestRow } from '../platform/database/nested-row.ts';
import { changed, many, one, only } from '../platform/database/statements.ts';
import type { Queryable } from '../platform/database/transaction.ts';
import { AUDIT_CHECKPOINT, type AuditSigningKeyRow } from './audit.model.ts';
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
const readWork = one<{ readonly [Fact in 'found' | 'foreign' | 'ahead']: boolean }, [keyId: string]>(`
SELECT (
  SELECT l.id FROM audit_log l WHERE (l.xid, l.id) > (h.last_xid, h.last_id) AND l.${HORIZON} ORDER BY l.xid, l.id LIMIT 1
) IS NOT NULL AS found, h.key_id IS DISTINCT FROM $1 AS foreign, h.last_xid >= pg_snapshot_xmax(pg_current_snapshot()) AS ahead
FROM audit_head h`);

/**
 * Rows without a seal. Subqueries read the head, because with a join Postgres reads the whole index and filters it; the
 * order makes it use the index, and read no row where every row is sealed.
 */
export const findUnsealed = countBreaches(
  'occurred_at',
  `
FROM (
  SELECT occurred_at FROM audit_log l
  WHERE (l.xid, l.id) > ((SELECT last_xid FROM audit_head), (SELECT last_id FROM audit_head)) ORDER BY l.xid, l.id LIMIT 100000
) AS unsealed`,
);

type HeadRow = Omit<StoredHead, 'signature'> & {
  readonly signature: { readonly [Part in keyof Signature]: Signature[Part] | null };
};

const headOf = one<Flat<HeadRow, 'last' | 'signature'>>(`
SELECT n, hash, last_xid AS "last.xid", last_id AS "last.id", key_id AS "signature.key_id", signature AS "signature.bytes",
  (SELECT coalesce(max(n), 0) FROM audit_seals) AS last_seal
FROM audit_head`);

const finishedRows = many<SelectedRow, [xid: string, id: string, limit: number]>(`
SELECT ${ROW} FROM audit_log WHERE (xid, id) > ($1::xid8, $2::uuid) AND ${HORIZON} ORDER BY xid, id LIMIT $3`);

export const CHECKPOINT_COLUMNS = `
c.tenant_id, c.n, c.seal, c.count, c.tree_size, c.root, c.previous, c.first_xid AS "first.xid", c.first_id AS "first.id",
c.last_xid AS "last.xid", c.last_id AS "last.id", ${milliseconds('c.sealed_at')} AS sealed_at, c.key_id, c.signature`;

/** A row with `CHECKPOINT_COLUMNS` and `More`. */
export type FlatCheckpoint<More = unknown> = Flat<SignedCheckpoint & More, 'first' | 'last'>;

type Peaks = Pick<StoredCheckpoint, 'peaks'>;

const lastCheckpoints = many<FlatCheckpoint<Peaks>, [tenantIds: readonly string[]]>(`
SELECT ${CHECKPOINT_COLUMNS}, c.peaks FROM unnest($1::uuid[]) AS t(tenant_id)
CROSS JOIN LATERAL (SELECT * FROM audit_checkpoints WHERE tenant_id = t.tenant_id ORDER BY n DESC LIMIT 1) AS c`);

const newestCheckpoints = many<
  FlatCheckpoint,
  [tenantId: string, before: number | undefined, limit: number]
>(`
SELECT ${CHECKPOINT_COLUMNS} FROM audit_checkpoints c
WHERE c.tenant_id = $1 AND c.n < coalesce($2::bigint, 9223372036854775807) ORDER BY c.n DESC LIMIT $3`);

const COLUMNS_OF = Object.entries(AUDIT_CHECKPOINT.columns).map(([name, { sql }]) => [
  inSnakeCase(name),
  sql,
]);
const NAMES = COLUMNS_OF.map(([name]) => name).join(', ');

// The rows are sent as JSON, so one statement inserts the checkpoints of all tenants. Bytes are hexadecimal in the
// JSON.
const insertJson = changed<[checkpoints: string]>(`
INSERT INTO audit_checkpoints (${NAMES})
SELECT ${NAMES} FROM jsonb_to_recordset($1::jsonb) AS c(${COLUMNS_OF.map((column) => column.join(' ')).join(', ')})`);

// In the order of `insertSeal`, below.
const insertSealRow = changed<
  [
    ...[number, Uint8Array, number, string, string],
    ...[readonly string[], readonly number[], readonly Uint8Array[], string, string, Uint8Array],
  ]
>(`
INSERT INTO audit_seals (n, previous, count, last_xid, last_id, tenants, numbers, hashes, sealed_at, key_id, signature)
VALUES ($1, $2, $3, $4, $5, $6::uuid[], $7::bigint[], $8::bytea[], $9, $10, $11)`);

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
  const work = await readWork(queryable, keyId);
  if (work === undefined) throw new Error(HEADLESS);
  if (work.ahead) throw new Error(GONE_BACK);
  return work.found || work.foreign;
}

const takeLock = only<{ locked: boolean; now: string }, [lock: number]>(
  `SELECT pg_try_advisory_xact_lock($1) AS locked, ${milliseconds('now()::timestamptz(3)')} AS now`,
);

/** Locks sealing until the transaction ends. @returns the database's time, or null when another process seals */
export async function tryLock(unit: Queryable): Promise<{ now: string } | null> {
  const { locked, now } = await takeLock(unit, LOCK);
  return locked ? { now: toTime(now) } : null;
}

/** @returns undefined when the row of the head was deleted; the service itself never deletes it */
export async function readHead(queryable: Queryable): Promise<StoredHead | undefined> {
  const row = await headOf(queryable);
  if (row === undefined) return undefined;
  const { signature, ...head } = nestRow<HeadRow>(row);
  const { keyId, bytes } = signature;
  return { ...head, signature: keyId === null || bytes === null ? null : { keyId, bytes } };
}

/** Lists the rows after a position whose transactions have all ended, in the order of sealing. */
export async function listFinishedRows(
  queryable: Queryable,
  after: Position,
  limit: number,
): Promise<AuditRow[]> {
  return (await finishedRows(queryable, after.xid, after.id, limit)).map(({ fields }) => toAuditRow(fields));
}

/** Returns the last checkpoint of each of these tenants. Tenants without a checkpoint are left out. */
export async function listLastCheckpoints(
  queryable: Queryable,
  tenantIds: readonly string[],
): Promise<LastCheckpoint[]> {
  return (await lastCheckpoints(queryable, tenantIds)).map((row) => toCheckpoint<Peaks>(row));
}

export const insertCheckpoints = (unit: Queryable, checkpoints: readonly StoredCheckpoint[]) =>
  insertJson(unit, JSON.stringify(checkpoints.map(toJson)));

export function insertSeal(unit: Queryable, seal: StoredSeal): Promise<boolean> {
  const { n, previous, count, last, checkpoints, sealedAt, keyId, signature } = seal;
  return insertSealRow(
    ...([unit, n, previous, count, last.xid, last.id] as const),
    checkpoints.map(({ tenantId }) => tenantId),
    checkpoints.map(({ n: number }) => number),
    checkpoints.map(({ hash }) => hash),
    ...([sealedAt, keyId, signature] as const),
  );
}

const setHead = changed<[number, Uint8Array, string, string, string, Uint8Array]>(
  'UPDATE audit_head SET n = $1, hash = $2, last_xid = $3, last_id = $4, key_id = $5, signature = $6',
);

/** Sets the head to the seal that was just made, or signs it anew. */
export async function moveHead(
  unit: Queryable,
  { n, hash, last }: Head,
  signature: Signature,
): Promise<void> {
  if (!(await setHead(unit, n, hash, last.xid, last.id, signature.keyId, signature.bytes)))
    throw new Error(HEADLESS);
}

/** Stores a public key, so that its signatures can be verified after its audit key was removed. */
export const keepKey = changed<[keyId: string, publicKey: Uint8Array]>(
  'INSERT INTO audit_signing_keys (id, public_key) VALUES ($1, $2) ON CONFLICT DO NOTHING',
);

const keysOf = many<Pick<AuditSigningKeyRow, 'id' | 'publicKey'>>(
  'SELECT id, public_key FROM audit_signing_keys ORDER BY created_at, id',
);

/** Returns all public keys by key id; each audit key has one. */
export async function readKeys(queryable: Queryable): Promise<Map<string, Uint8Array>> {
  return new Map((await keysOf(queryable)).map(({ id, publicKey }) => [id, new Uint8Array(publicKey)]));
}

/** Lists a tenant's checkpoints, newest first. @param before only checkpoints with a lower number */
export async function listNewestCheckpoints(
  queryable: Queryable,
  tenantId: string,
  { before, limit }: { before: number | undefined; limit: number },
): Promise<SignedCheckpoint[]> {
  return (await newestCheckpoints(queryable, tenantId, before, limit)).map((row) => toCheckpoint(row));
}

/** The members of a checkpoint by their columns. */
function toJson({ first, last, ...checkpoint }: StoredCheckpoint) {
  const row = { ...checkpoint, firstXid: first.xid, firstId: first.id, lastXid: last.xid, lastId: last.id };
  const members = Object.entries(row).map(([name, value]) => [
    inSnakeCase(name),
    value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : value,
  ]);
  return Object.fromEntries(members);
}

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

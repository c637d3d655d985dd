// Checkpoints, seals and the head, and the exact texts that are hashed and signed for them. Pure.

/** A place in the order in which rows are sealed: transaction id (decimal), then row id. */
export type Position = { readonly xid: string; readonly id: string };

/** A tenant's rows in one seal. `root` and `previous` are 32 bytes, `sealedAt` is a time of RFC 3339. */
export type Checkpoint = {
  readonly tenantId: string;
  /** From 1, without gaps for a tenant. */
  readonly n: number;
  /** Number of its seal. */
  readonly seal: number;
  /** Number of its rows, and of the rows of all checkpoints of the tenant up to it. */
  readonly count: number;
  readonly total: number;
  readonly root: Uint8Array;
  /** SHA-256 of the statement of the previous checkpoint; zeros for the first. */
  readonly previous: Uint8Array;
  readonly first: Position;
  readonly last: Position;
  readonly sealedAt: string;
  readonly keyId: string;
};

/** A seal over the checkpoints of all tenants. `hash`: of a checkpoint's `sealedForm`. */
export type Seal = {
  /** From 1, without gaps. */
  readonly n: number;
  /** SHA-256 of the statement of the previous seal; zeros for the first. */
  readonly previous: Uint8Array;
  readonly count: number;
  /** Every row up to this position is in a checkpoint. */
  readonly last: Position;
  readonly sealedAt: string;
  readonly keyId: string;
  readonly checkpoints: readonly {
    readonly tenantId: string;
    readonly n: number;
    readonly hash: Uint8Array;
  }[];
};

/** The last seal: its number, the hash of its statement, and the last position that it covers. */
export type Head = { readonly n: number; readonly hash: Uint8Array; readonly last: Position };

export type Signature = { readonly keyId: string; readonly bytes: Uint8Array };

/** The hash before the first checkpoint or seal of a chain. */
export const NOTHING_BEFORE = new Uint8Array(32);

export const BEGINNING: Position = { xid: '0', id: '00000000-0000-0000-0000-000000000000' };

/** The position after all rows of a transaction. */
export const endOf = (xid: string): Position => ({ xid, id: 'ffffffff-ffff-ffff-ffff-ffffffffffff' });

const hex = (bytes: Uint8Array) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
const place = ({ xid, id }: Position) => `${xid}/${id}`;
const lines = (...parts: (string | number)[]) => parts.join('\n');

/** The text that is signed for a tenant. It can be verified alone, and reveals nothing about other tenants. */
export function checkpointStatement(checkpoint: Checkpoint): string {
  const { tenantId, n, count, total, root, previous, first, last, sealedAt, keyId } = checkpoint;
  return lines(
    'SERVICE-AUDIT-CHECKPOINT-V1',
    tenantId,
    n,
    count,
    total,
    hex(root),
    hex(previous),
    first.id,
    last.id,
    sealedAt,
    keyId,
  );
}

/**
 * The text whose hash is in the seal: the statement, the number of the seal, and the transaction ids. Tenants do not
 * see these ids, because they would reveal how busy other tenants are.
 */
export function sealedForm(checkpoint: Checkpoint): string {
  const { seal, first, last } = checkpoint;
  return lines(checkpointStatement(checkpoint), seal, first.xid, last.xid);
}

/** The text whose hash is the seal: the previous seal, the number of rows, the last position, and the checkpoints. */
export function sealStatement({ n, previous, count, last, sealedAt, keyId, checkpoints }: Seal): string {
  return lines(
    'SERVICE-AUDIT-SEAL-V1',
    n,
    hex(previous),
    count,
    place(last),
    sealedAt,
    keyId,
    ...checkpoints.map(({ tenantId, n: number, hash }) => `${tenantId} ${number} ${hex(hash)}`),
  );
}

/** The text that is signed for the newest seal: it shows when seals were deleted from the end of the chain. */
export function headStatement({ n, hash, last }: Head, keyId: string): string {
  return lines('SERVICE-AUDIT-HEAD-V1', n, hex(hash), place(last), keyId);
}

/** Negative when `a` is before `b`. The ids have one length, so they compare as texts. */
export function comparePositions(a: Position, b: Position): number {
  const difference = BigInt(a.xid) - BigInt(b.xid);
  if (difference !== 0n) return difference < 0n ? -1 : 1;
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}

/** Not in constant time, since hashes of the log are not secret. */
export function isSameHash(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}

// Checkpoints, seals and the head, and the exact texts that are hashed and signed for them.
// docs/decisions/0006-audit-checkpoints.md
import { NIL } from 'uuid';
import { encodeBase64 } from '../platform/crypto/base64.ts';

/** A position in the order of sealing: transaction id (decimal), then row id. */
export type Position = { readonly xid: string; readonly id: string };

/** The rows of one tenant in one seal. `root` and `previous` are 32 bytes, `sealedAt` is RFC 3339. */
export type Checkpoint = {
  readonly tenantId: string;
  /** The tenant's checkpoints are numbered from 1 without gaps. */
  readonly n: number;
  readonly seal: number;
  /** Rows in this checkpoint. */
  readonly count: number;
  /** Leaves of the tenant's tree: the rows in all checkpoints of the tenant up to this one. */
  readonly treeSize: number;
  /** Root of the tenant's tree. */
  readonly root: Uint8Array;
  /** SHA-256 of the previous checkpoint's signed text (`checkpointStatement`); zeros for the first checkpoint. */
  readonly previous: Uint8Array;
  readonly first: Position;
  readonly last: Position;
  readonly sealedAt: string;
  readonly keyId: string;
};

/** A seal over the checkpoints of all tenants. The `hash` of a checkpoint is the hash of its `sealedForm`. */
export type Seal = {
  /** Seals are numbered from 1 without gaps. */
  readonly n: number;
  /** SHA-256 of the previous seal's text (`sealStatement`); zeros for the first seal. */
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

/** `n`: number of the last seal. `hash`: hash of its text. `last`: the last position that it covers. */
export type Head = { readonly n: number; readonly hash: Uint8Array; readonly last: Position };

export type Signature = { readonly keyId: string; readonly bytes: Uint8Array };

/** The value of `previous` for the first checkpoint or seal of a chain. */
export const NOTHING_BEFORE = new Uint8Array(32);

export const BEGINNING: Position = { xid: '0', id: NIL };

/** Returns the position after all rows of a transaction. */
export const endOf = (xid: string): Position => ({ xid, id: 'ffffffff-ffff-ffff-ffff-ffffffffffff' });

/** Returns bytes in lowercase hexadecimal, as the texts have them. */
export const hex = (bytes: Uint8Array) =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
const place = ({ xid, id }: Position) => `${xid}/${id}`;
const lines = (...parts: (string | number)[]) => parts.join('\n');

/** The name of a tenant's tree, and of the key that signs it, in notes (C2SP tlog-checkpoint). */
export const originOf = (tenantId: string): string => `countersign/audit/${tenantId}`;

/**
 * Builds the text that is signed for a tenant: the text of a C2SP tlog-checkpoint. The text reveals nothing about other
 * tenants.
 */
export function checkpointStatement({ tenantId, treeSize, root }: Checkpoint): string {
  return `${lines(originOf(tenantId), treeSize, encodeBase64(root))}\n`;
}

/**
 * Builds the text whose hash is in the seal: all of the checkpoint, the number of the seal, and the transaction ids.
 * Tenants do not receive the transaction ids, because they reveal how active other tenants are.
 * @param list hashes of the ids and of the leaves of its rows
 */
export function sealedForm(checkpoint: Checkpoint, list: readonly Uint8Array[]): string {
  const { tenantId, n, seal, count, treeSize, root, previous, first, last, sealedAt, keyId } = checkpoint;
  return lines(
    ...['SERVICE-AUDIT-CHECKPOINT-V1', tenantId, n, seal, count, treeSize, hex(root), hex(previous)],
    ...[place(first), place(last), sealedAt, keyId, ...list.map(hex)],
  );
}

/** Builds the text whose hash is the seal's hash: previous seal, number of rows, last position, and checkpoints. */
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

/** Builds the text that is signed for the newest seal. Its signature reveals the deletion of the last seals. */
export function headStatement({ n, hash, last }: Head, keyId: string): string {
  return lines('SERVICE-AUDIT-HEAD-V1', n, hex(hash), place(last), keyId);
}

/** Compares two positions; negative when `a` is before `b`. Ids have the same length, so they compare as texts. */
export function comparePositions(a: Position, b: Position): number {
  const difference = BigInt(a.xid) - BigInt(b.xid);
  if (difference !== 0n) return difference < 0n ? -1 : 1;
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}

/** Compares two hashes, not in constant time, because hashes of the log are not secret. */
export function isSameHash(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}

// Computes Merkle tree hashes of RFC 6962 §2.1 (equal to RFC 9162 §2.1.1), leaf by leaf. Leaves and nodes are hashed
// with different prefixes, so that a node cannot be presented as a leaf.
// docs/decisions/0022-audit-beginning-and-tree.md
import { hash } from 'node:crypto';

// A digest as text becomes a slice of Node's pool. A buffer would have separate memory, which costs the garbage
// collector more than the hash.
export const sha256 = (bytes: Uint8Array): Uint8Array => Buffer.from(hash('sha256', bytes, 'hex'), 'hex');

const HASH_LENGTH = 32;
const LEAF = 0x00;
const NODE = 0x01;

/** Memory for the input of one hash, used again for the next: a log has millions of them. */
let scratch = new Uint8Array(4_096);

/** Hashes one entry: `SHA-256(0x00 || entry)`. */
export function hashLeaf(entry: Uint8Array): Uint8Array {
  const length = 1 + entry.length;
  if (scratch.length < length) scratch = new Uint8Array(length);
  scratch[0] = LEAF;
  scratch.set(entry, 1);
  return sha256(scratch.subarray(0, length));
}

/** Hashes a node over its two children: `SHA-256(0x01 || left || right)`. */
export function hashNode(left: Uint8Array, right: Uint8Array): Uint8Array {
  scratch[0] = NODE;
  scratch.set(left, 1);
  scratch.set(right, 1 + HASH_LENGTH);
  return sha256(scratch.subarray(0, 1 + 2 * HASH_LENGTH));
}

/** A tree as it was left: its number of leaves, and the roots of its complete subtrees, largest first. */
export type TreeState = { readonly size: number; readonly peaks: Uint8Array };

/** Subtrees of fewer leaves than 2 to this power are hashed again from their leaves; the roots of others are kept. */
export const KEPT_LEVEL = 3;

/**
 * Creates a tree to which leaves are added one by one. It stores only the roots of its complete subtrees, about log2 of
 * the number of leaves.
 * @param from the tree to go on with; an empty one when absent
 */
export function createMerkleTree(from?: TreeState) {
  /** Roots of the complete subtrees, largest first. Their sizes are the powers of two in `size`. */
  const subtrees = from === undefined ? [] : splitHashes(from.peaks);
  const kept: Uint8Array[] = [];
  let size = from?.size ?? 0;
  return {
    /** Adds a leaf hash, which `hashLeaf` returned. */
    add(leaf: Uint8Array): void {
      let root = leaf;
      let level = 0;
      for (let rest = size; rest % 2 === 1; rest = Math.floor(rest / 2)) {
        const left = subtrees.pop();
        if (left !== undefined) root = hashNode(left, root);
        level += 1;
        if (level >= KEPT_LEVEL) kept.push(root);
      }
      subtrees.push(root);
      size += 1;
    },

    size: (): number => size,

    /** Returns the current root hash. For a tree without leaves it is the hash of zero bytes. */
    root: (): Uint8Array => joinRoots(subtrees),

    /** Returns the roots of the complete subtrees, with which the tree goes on later. */
    peaks: (): readonly Uint8Array[] => subtrees,

    /** Returns the roots of kept levels that the added leaves completed, in the order of their completion. */
    kept: (): readonly Uint8Array[] => kept,
  };
}

/** Returns how many roots of kept levels the first leaves of a tree complete. */
export function countKept(size: number): number {
  let count = 0;
  for (let rest = Math.floor(size / 2 ** KEPT_LEVEL); rest > 0; rest = Math.floor(rest / 2)) count += rest;
  return count;
}

/** Computes the root over the roots of complete subtrees, largest first. */
export function joinRoots(roots: readonly Uint8Array[]): Uint8Array {
  const last = roots.at(-1);
  if (last === undefined) return sha256(new Uint8Array());
  return roots.slice(0, -1).reduceRight((right, left) => hashNode(left, right), last);
}

/** Splits concatenated hashes. */
export function splitHashes(bytes: Uint8Array): Uint8Array[] {
  const hashes: Uint8Array[] = [];
  for (let start = 0; start < bytes.length; start += HASH_LENGTH)
    hashes.push(bytes.subarray(start, start + HASH_LENGTH));
  return hashes;
}

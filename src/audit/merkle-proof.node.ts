// Inclusion and consistency proofs of RFC 6962 §2.1.1 and §2.1.2: which subtrees they consist of, and where the hashes
// of these are kept.
import { countKept, hashNode, joinRoots, KEPT_LEVEL } from './merkle.node.ts';

/** The leaves from `start` to before `end`. A proof is a list of the root hashes of such ranges. */
export type Range = { readonly start: number; readonly end: number };

/** Where a hash is kept: the leaf that completes its subtree, and its number among all kept roots, null for a leaf. */
export type KeptHash = { readonly leaf: number; readonly root: number | null };

/** Returns the ranges whose hashes prove that a leaf is in the tree, from the leaf's sibling up. */
export function inclusionRanges(index: number, size: number): Range[] {
  if (index < 0 || index >= size) throw new RangeError(`a tree of ${size} has no leaf ${index}`);
  return pathOf(index, { start: 0, end: size });
}

/** Returns the ranges whose hashes prove that the tree of `from` leaves is the beginning of the tree of `to` leaves. */
export function consistencyRanges(from: number, to: number): Range[] {
  if (from < 1 || from > to) throw new RangeError(`no tree of ${to} begins with ${from}`);
  return consistencyOf(from, { start: 0, end: to }, true);
}

/** Returns the complete subtrees of a range, largest first, by their level (2 to its power is their size). */
export function subtreesOf({ start, end }: Range): { level: number; start: number }[] {
  const subtrees: { level: number; start: number }[] = [];
  for (let at = start; at < end; ) {
    let level = 0;
    while (at % 2 ** (level + 1) === 0 && at + 2 ** (level + 1) <= end) level += 1;
    subtrees.push({ level, start: at });
    at += 2 ** level;
  }
  return subtrees;
}

/** Returns the kept hashes that the root of a complete subtree is computed from: itself, or its leaves. */
export function keptHashesOf({ level, start }: { level: number; start: number }): KeptHash[] {
  if (level < KEPT_LEVEL)
    return Array.from({ length: 2 ** level }, (_, offset) => ({ leaf: start + offset, root: null }));
  const leaf = start + 2 ** level - 1;
  return [{ leaf, root: countKept(leaf) + level - KEPT_LEVEL }];
}

/** Computes the hashes of a proof. @param read returns the kept hashes in their order */
export async function computeProof(
  ranges: readonly Range[],
  read: (wanted: readonly KeptHash[]) => Promise<readonly Uint8Array[]>,
): Promise<Uint8Array[]> {
  const parts = ranges.map((range) => subtreesOf(range).map(keptHashesOf));
  const found = (await read(parts.flat(2)))[Symbol.iterator]();
  const next = (): Uint8Array => {
    const { value } = found.next();
    if (value === undefined) throw new Error('a hash of the tree is missing');
    return value;
  };
  return parts.map((subtrees) => joinRoots(subtrees.map((kept) => joinPairs(kept.map(next)))));
}

/** Computes the root over as many leaves as a power of two. */
function joinPairs(hashes: Uint8Array[]): Uint8Array {
  const [only = new Uint8Array()] = hashes;
  if (hashes.length <= 1) return only;
  const half = hashes.length / 2;
  return hashNode(joinPairs(hashes.slice(0, half)), joinPairs(hashes.slice(half)));
}

function pathOf(index: number, { start, end }: Range): Range[] {
  if (end - start === 1) return [];
  const middle = start + largestPowerBelow(end - start);
  const [left, right] = [
    { start, end: middle },
    { start: middle, end },
  ];
  return index < middle ? [...pathOf(index, left), right] : [...pathOf(index, right), left];
}

/**
 * SUBPROOF of RFC 6962 §2.1.2.
 * @param isKnown whether the range is the whole older tree, whose root the verifier has
 */
function consistencyOf(count: number, { start, end }: Range, isKnown: boolean): Range[] {
  if (count === end - start) return isKnown ? [] : [{ start, end }];
  const size = largestPowerBelow(end - start);
  const middle = start + size;
  if (count <= size)
    return [...consistencyOf(count, { start, end: middle }, isKnown), { start: middle, end }];
  return [...consistencyOf(count - size, { start: middle, end }, false), { start, end: middle }];
}

function largestPowerBelow(count: number): number {
  let power = 1;
  while (power * 2 < count) power *= 2;
  return power;
}

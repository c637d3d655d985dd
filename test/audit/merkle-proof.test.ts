// Proofs of the growing tree against verifiers written after RFC 9162 §2.1.3.2 and §2.1.4.2, and published vectors.
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countKept, createMerkleTree, hashLeaf, splitHashes } from '../../src/audit/merkle.node.ts';
import {
  computeProof,
  consistencyRanges,
  inclusionRanges,
  type KeptHash,
} from '../../src/audit/merkle-proof.node.ts';

const digest = (bytes: Uint8Array) => new Uint8Array(createHash('sha256').update(bytes).digest());
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const node = (left: Uint8Array, right: Uint8Array) => digest(Buffer.concat([Buffer.of(1), left, right]));

/** Verifies as RFC 9162 §2.1.3.2 says. */
function includes(proof: readonly Uint8Array[], leaf: Uint8Array, index: number, size: number, root: string) {
  let [fn, sn, r] = [index, size - 1, leaf];
  if (index >= size) return false;
  for (const p of proof) {
    if (sn === 0) return false;
    if (fn % 2 === 1 || fn === sn) {
      r = node(p, r);
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn >>> 1, sn >>> 1];
    } else r = node(r, p);
    [fn, sn] = [fn >>> 1, sn >>> 1];
  }
  return sn === 0 && hex(r) === root;
}

/** Verifies as RFC 9162 §2.1.4.2 says. */
function isConsistent(proof: readonly Uint8Array[], from: number, to: number, before: string, after: string) {
  if (from === to) return proof.length === 0 && before === after;
  const path = Number.isInteger(Math.log2(from)) ? [Buffer.from(before, 'hex'), ...proof] : [...proof];
  let [fn, sn] = [from - 1, to - 1];
  while (fn % 2 === 1) [fn, sn] = [fn >>> 1, sn >>> 1];
  const first = path.shift();
  if (first === undefined) return false;
  let [fr, sr]: [Uint8Array, Uint8Array] = [first, first];
  for (const c of path) {
    if (sn === 0) return false;
    if (fn % 2 === 1 || fn === sn) {
      [fr, sr] = [node(c, fr), node(c, sr)];
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn >>> 1, sn >>> 1];
    } else sr = node(sr, c);
    [fn, sn] = [fn >>> 1, sn >>> 1];
  }
  return sn === 0 && hex(fr) === before && hex(sr) === after;
}

/** A tree that was sealed in parts, as the checkpoints keep it. */
function grow(entries: readonly Uint8Array[], sizes: readonly number[]) {
  const leaves = entries.map((entry) => hashLeaf(entry));
  const kept: Uint8Array[] = [];
  const roots = new Map<number, string>();
  let state: { size: number; peaks: Uint8Array } | undefined;
  let at = 0;
  for (const size of [...sizes, leaves.length]) {
    const tree = createMerkleTree(state);
    for (; at < Math.min(size, leaves.length); at += 1) {
      tree.add(leaves[at] ?? new Uint8Array());
      roots.set(at + 1, hex(tree.root()));
    }
    kept.push(...tree.kept());
    state = { size: tree.size(), peaks: Buffer.concat(tree.peaks()) };
    expect(kept).toHaveLength(countKept(at));
  }
  const read = async (wanted: readonly KeptHash[]) =>
    wanted.map(({ leaf, root }) => (root === null ? leaves[leaf] : kept[root]) ?? new Uint8Array());
  return {
    leaves,
    rootAt: (size: number) => roots.get(size) ?? '',
    prove: (index: number, size: number) => computeProof(inclusionRanges(index, size), read),
    connect: (from: number, to: number) => computeProof(consistencyRanges(from, to), read),
  };
}

const ENTRIES = [
  '',
  '00',
  '10',
  '2021',
  '3031',
  '40414243',
  '5051525354555657',
  '606162636465666768696a6b6c6d6e6f',
];
const published = () =>
  grow(
    ENTRIES.map((entry) => Buffer.from(entry, 'hex')),
    [3],
  );

describe('a proof', () => {
  // The vectors of certificate-transparency's reference tests.
  it.each([
    [
      0,
      8,
      [
        '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
        '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
        '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
      ],
    ],
    [
      5,
      8,
      [
        'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
        'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
        'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
      ],
    ],
    [2, 3, ['fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125']],
    [
      1,
      5,
      [
        '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
        '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
        'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
      ],
    ],
  ])('of inclusion is the published one: leaf %i of %i', async (index, size, hashes) => {
    expect((await published().prove(index, size)).map(hex)).toEqual(hashes);
  });

  it.each([
    [1, 1, []],
    [
      1,
      8,
      [
        '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
        '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
        '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
      ],
    ],
    [
      6,
      8,
      [
        '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a',
        'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
        'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
      ],
    ],
    [
      2,
      5,
      [
        '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
        'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
      ],
    ],
  ])('of consistency is the published one: %i to %i', async (from, to, hashes) => {
    expect((await published().connect(from, to)).map(hex)).toEqual(hashes);
  });

  it('of every leaf and every two sizes is verified, up to 40 leaves', async () => {
    const entries = Array.from({ length: 40 }, (_, index) => Buffer.of(index));
    const tree = grow(entries, [1, 9, 10, 27]);
    for (let size = 1; size <= 40; size += 1)
      for (let index = 0; index < size; index += 1) {
        const leaf = tree.leaves[index] ?? new Uint8Array();
        expect(includes(await tree.prove(index, size), leaf, index, size, tree.rootAt(size))).toBe(true);
        const proof = await tree.connect(index + 1, size);
        expect(isConsistent(proof, index + 1, size, tree.rootAt(index + 1), tree.rootAt(size))).toBe(true);
      }
  });

  it('is refused when any bit of it, of the leaf or of a root is another, and when a hash is added or missing', async () => {
    const place = fc.tuple(fc.integer({ min: 2, max: 300 }), fc.nat(), fc.nat(), fc.nat());
    await fc.assert(
      fc.asyncProperty(place, async ([size, a, b, bit]) => {
        const entries = Array.from({ length: size }, (_, index) => Buffer.from(String(index)));
        const tree = grow(
          entries,
          [a % size, b % size].sort((x, y) => x - y),
        );
        const [index, from] = [a % size, 1 + (b % (size - 1))];
        const leaf = tree.leaves[index] ?? new Uint8Array();
        const inclusion = await tree.prove(index, size);
        const consistency = await tree.connect(from, size);
        const [before, after] = [tree.rootAt(from), tree.rootAt(size)];
        expect(includes(inclusion, leaf, index, size, after)).toBe(true);
        expect(isConsistent(consistency, from, size, before, after)).toBe(true);
        const broken = flip(Buffer.concat(inclusion), bit);
        expect(includes(splitHashes(broken), leaf, index, size, after)).toBe(false);
        expect(includes(inclusion, flip(leaf, bit), index, size, after)).toBe(false);
        expect(includes([...inclusion, leaf], leaf, index, size, after)).toBe(false);
        expect(includes(inclusion.slice(1), leaf, index, size, after)).toBe(false);
        const cut = splitHashes(flip(Buffer.concat(consistency), bit));
        expect(isConsistent(cut, from, size, before, after)).toBe(false);
        const wrong = hex(flip(Buffer.from(before, 'hex'), bit));
        expect(isConsistent(consistency, from, size, wrong, after)).toBe(false);
        expect(isConsistent(consistency.slice(1), from, size, before, after)).toBe(false);
      }),
    );
  });

  it('is refused for what no tree has', () => {
    expect(() => inclusionRanges(8, 8)).toThrow(RangeError);
    expect(() => consistencyRanges(9, 8)).toThrow(RangeError);
    expect(() => consistencyRanges(0, 8)).toThrow(RangeError);
  });
});

function flip(bytes: Uint8Array, bit: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  const at = bit % (copy.length * 8);
  copy[at >> 3] = (copy[at >> 3] ?? 0) ^ (1 << (at & 7));
  return copy;
}

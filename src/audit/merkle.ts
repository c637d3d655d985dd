// Merkle tree hashes of RFC 9162 §2.1.1 (those of RFC 6962 §2.1), built leaf by leaf. Leaves and nodes have different
// prefixes, so that a node cannot be presented as a leaf.

/** SHA-256 of some bytes: 32 bytes. */
export type Digest = (bytes: Uint8Array) => Uint8Array;

const HASH_LENGTH = 32;
const LEAF = 0x00;
const NODE = 0x01;

/** The hash of one entry: `SHA-256(0x00 || entry)`. */
export function hashLeaf(digest: Digest, entry: Uint8Array): Uint8Array {
  const input = new Uint8Array(1 + entry.length);
  input[0] = LEAF;
  input.set(entry, 1);
  return digest(input);
}

/** The hash of a node over its two children: `SHA-256(0x01 || left || right)`. */
function hashNode(digest: Digest, left: Uint8Array, right: Uint8Array): Uint8Array {
  const input = new Uint8Array(1 + 2 * HASH_LENGTH);
  input[0] = NODE;
  input.set(left, 1);
  input.set(right, 1 + HASH_LENGTH);
  return digest(input);
}

/**
 * A tree that grows by one leaf at a time. It keeps only the roots of its complete subtrees, about log2 of the number
 * of leaves.
 * @param digest SHA-256
 */
export function createMerkleTree(digest: Digest) {
  /** Roots of complete subtrees, the largest first; their sizes are the powers of two in `size`. */
  const subtrees: Uint8Array[] = [];
  let size = 0;
  return {
    /** Adds the hash of an entry, as `hashLeaf` makes it. */
    add(leaf: Uint8Array): void {
      let root = leaf;
      for (let bits = size; bits % 2 === 1; bits = Math.floor(bits / 2)) {
        const left = subtrees.pop();
        if (left !== undefined) root = hashNode(digest, left, root);
      }
      subtrees.push(root);
      size += 1;
    },

    /** The current hash of the tree; for no leaves, the hash of no bytes. */
    root(): Uint8Array {
      const last = subtrees.at(-1);
      if (last === undefined) return digest(new Uint8Array());
      return subtrees.slice(0, -1).reduceRight((right, left) => hashNode(digest, left, right), last);
    },
  };
}

/** The hash of a tree over concatenated leaf hashes of 32 bytes each. */
export function rootOfLeaves(digest: Digest, leaves: Uint8Array): Uint8Array {
  const tree = createMerkleTree(digest);
  for (let start = 0; start < leaves.length; start += HASH_LENGTH)
    tree.add(leaves.subarray(start, start + HASH_LENGTH));
  return tree.root();
}

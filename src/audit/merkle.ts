// Computes Merkle tree hashes of RFC 9162 §2.1.1 (equal to RFC 6962 §2.1), leaf by leaf. Leaves and nodes are hashed
// with different prefixes, so that a node cannot be presented as a leaf.

export type Digest = (bytes: Uint8Array) => Uint8Array;

const HASH_LENGTH = 32;
const LEAF = 0x00;
const NODE = 0x01;

/** Memory for the input of one hash, used again for the next: a log has millions of them. */
let scratch = new Uint8Array(4_096);

/** Hashes one entry: `SHA-256(0x00 || entry)`. */
export function hashLeaf(digest: Digest, entry: Uint8Array): Uint8Array {
  const length = 1 + entry.length;
  if (scratch.length < length) scratch = new Uint8Array(length);
  scratch[0] = LEAF;
  scratch.set(entry, 1);
  return digest(scratch.subarray(0, length));
}

/** Hashes a node over its two children: `SHA-256(0x01 || left || right)`. */
function hashNode(digest: Digest, left: Uint8Array, right: Uint8Array): Uint8Array {
  scratch[0] = NODE;
  scratch.set(left, 1);
  scratch.set(right, 1 + HASH_LENGTH);
  return digest(scratch.subarray(0, 1 + 2 * HASH_LENGTH));
}

/**
 * Creates a tree to which leaves are added one by one. It stores only the roots of its complete subtrees, about log2 of
 * the number of leaves.
 * @param digest SHA-256
 */
export function createMerkleTree(digest: Digest) {
  /** Roots of the complete subtrees, largest first. Their sizes are the powers of two in `size`. */
  const subtrees: Uint8Array[] = [];
  let size = 0;
  return {
    /** Adds a leaf hash, which `hashLeaf` returned. */
    add(leaf: Uint8Array): void {
      let root = leaf;
      for (let bits = size; bits % 2 === 1; bits = Math.floor(bits / 2)) {
        const left = subtrees.pop();
        if (left !== undefined) root = hashNode(digest, left, root);
      }
      subtrees.push(root);
      size += 1;
    },

    /** Returns the current root hash. For a tree without leaves it is the hash of zero bytes. */
    root(): Uint8Array {
      const last = subtrees.at(-1);
      if (last === undefined) return digest(new Uint8Array());
      return subtrees.slice(0, -1).reduceRight((right, left) => hashNode(digest, left, right), last);
    },
  };
}

/** Computes the root hash over concatenated leaf hashes of 32 bytes each. */
export function rootOfLeaves(digest: Digest, leaves: Uint8Array): Uint8Array {
  const tree = createMerkleTree(digest);
  for (let start = 0; start < leaves.length; start += HASH_LENGTH)
    tree.add(leaves.subarray(start, start + HASH_LENGTH));
  return tree.root();
}

// Makes the next checkpoint of a tenant's chain from its rows and its last checkpoint.
// docs/decisions/0022-audit-beginning-and-tree.md
import { type AuditRow, encodeAuditRow } from './audit-row.ts';
import type { LastCheckpoint, StoredCheckpoint } from './checkpoint.store.ts';
import {
  type Checkpoint,
  checkpointStatement,
  isSameHash,
  NOTHING_BEFORE,
  type Position,
  type Seal,
  sealedForm,
} from './checkpoint.ts';
import { type CheckpointSigner, hashList, hashText } from './checkpoint-signature.node.ts';
import { createMerkleTree, hashLeaf, joinRoots, splitHashes, type TreeState } from './merkle.node.ts';

/** The rows of one tenant in one seal: ids and leaf hashes, in the order of sealing. */
export type RowShare = {
  readonly rowIds: string[];
  readonly leaves: Uint8Array[];
  readonly first: Position;
  last: Position;
};

/** Adds a row to the share of its tenant. Rows of a tenant come in the order of sealing. */
export function addRow(shares: Map<string, RowShare>, row: AuditRow): void {
  const place = { xid: row.xid, id: row.id };
  let share = shares.get(row.tenant_id);
  if (share === undefined) {
    share = { rowIds: [], leaves: [], first: place, last: place };
    shares.set(row.tenant_id, share);
  }
  share.rowIds.push(row.id);
  share.leaves.push(hashLeaf(encodeAuditRow(row)));
  share.last = place;
}

/**
 * Makes the next checkpoint of each tenant.
 * @param previous the last checkpoints of those tenants that have one
 * @throws Error when the stored peaks of a checkpoint are not those of the tree that was signed
 */
export function continueChains(
  signer: CheckpointSigner,
  shares: ReadonlyMap<string, RowShare>,
  previous: readonly LastCheckpoint[],
  seal: Pick<Checkpoint, 'seal' | 'sealedAt'>,
): StoredCheckpoint[] {
  const before = new Map(previous.map((one) => [one.tenantId, one]));
  return [...shares].map(([tenantId, share]) =>
    continueChain(signer, tenantId, share, before.get(tenantId), seal),
  );
}

/** Returns a checkpoint in the form that the seal contains. */
export const nameInSeal = (checkpoint: StoredCheckpoint): Seal['checkpoints'][number] => ({
  tenantId: checkpoint.tenantId,
  n: checkpoint.n,
  hash: hashText(sealedForm(checkpoint, hashList(checkpoint))),
});

function continueChain(
  signer: CheckpointSigner,
  tenantId: string,
  { rowIds, leaves, first, last }: RowShare,
  previous: LastCheckpoint | undefined,
  { seal, sealedAt }: Pick<Checkpoint, 'seal' | 'sealedAt'>,
): StoredCheckpoint {
  const tree = createMerkleTree(treeOf(previous));
  for (const leaf of leaves) tree.add(leaf);
  const checkpoint: Checkpoint = {
    tenantId,
    n: (previous?.n ?? 0) + 1,
    seal,
    count: rowIds.length,
    treeSize: tree.size(),
    root: tree.root(),
    previous: previous === undefined ? NOTHING_BEFORE : hashText(checkpointStatement(previous)),
    first,
    last,
    sealedAt,
    keyId: signer.keyId,
  };
  return {
    ...checkpoint,
    signature: signer.sign(checkpointStatement(checkpoint)),
    rowIds,
    leaves: Buffer.concat(leaves),
    peaks: Buffer.concat(tree.peaks()),
    nodes: Buffer.concat(tree.kept()),
  };
}

/**
 * Returns the tree that goes on; undefined for a tenant's first rows.
 * @throws Error when the stored peaks are not those of the tree that was signed
 */
function treeOf(previous: LastCheckpoint | undefined): TreeState | undefined {
  if (previous === undefined) return undefined;
  const { treeSize: size, peaks } = previous;
  if (!isSameHash(joinRoots(splitHashes(peaks)), previous.root))
    throw new Error(`the tree of the tenant ${previous.tenantId} was changed: nothing more is sealed`);
  return { size, peaks };
}

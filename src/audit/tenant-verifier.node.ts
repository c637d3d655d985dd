// Compares the rows of one tenant with its checkpoints. The caller supplies both in the order of sealing.
import { type AuditRow, encodeAuditRow } from './audit-row.ts';
import {
  type Checkpoint,
  checkpointStatement,
  comparePositions,
  isSameHash,
  NOTHING_BEFORE,
  type Position,
  sealedForm,
} from './checkpoint.ts';
import { hashList, hashText } from './checkpoint-signature.node.ts';
import { createMerkleTree, hashLeaf, splitHashes, type TreeState } from './merkle.node.ts';
import type { ReadCheckpoint } from './verification.store.ts';
import {
  type Anchor,
  checkChain,
  createLookahead,
  createTimeCheck,
  type Finding,
  isAnchored,
  isAnchorOf,
  isLate,
  positionOf,
} from './verification.ts';

export type TenantSource = {
  readonly tenantId: string;
  readonly checkpoints: AsyncIterable<ReadCheckpoint>;
  readonly rows: AsyncIterator<AuditRow>;
  /** True when a checkpoint is known to be missing. Rows after the last checkpoint may have belonged to it. */
  readonly isIncomplete: boolean;
  /** True when a signed certificate says that the tenant is erased, so its rows are gone and their hashes remain. */
  readonly isErased: boolean;
  /** Checkpoints that were stored outside the service. */
  readonly anchors: readonly Anchor[];
};

const HASH_LENGTH = 32;

/** `verifySignature`: whether the service has signed a text. `report` receives each finding immediately. */
export type TenantVerifierNeeds = {
  verifySignature: (text: string, signature: { keyId: string; bytes: Uint8Array }) => boolean;
  report: (finding: Finding) => void;
};

/** @returns the counts; findings are passed to `report` */
export async function verifyTenant(
  needs: TenantVerifierNeeds,
  { tenantId, checkpoints, rows: source, isIncomplete, isErased, anchors }: TenantSource,
) {
  const rows: Rows = await createLookahead(source);
  const times = createTimeCheck();
  const counts = { checkpoints: 0, rows: 0, sealedLate: 0 };
  let previous: ReadCheckpoint | undefined;
  let reached = 0;
  const left = new Set(anchors);

  /** Reports the missing checkpoint numbers before a checkpoint, and skips the rows of the missing checkpoints. */
  async function passGap(checkpoint: ReadCheckpoint): Promise<void> {
    const passed = await take(rows, checkpoint.first, false, () => undefined);
    counts.rows += passed;
    const missing = `${reached + 1}${checkpoint.n - reached > 2 ? ` to ${checkpoint.n - 1}` : ''}`;
    needs.report({
      kind: 'checkpoint_missing',
      tenantId,
      checkpoint: reached + 1,
      detail: `${missing} gone; ${passed} rows there cannot be verified`,
    });
  }

  for await (const checkpoint of checkpoints) {
    const { n } = checkpoint;
    counts.checkpoints += 1;
    if (n > reached + 1) {
      await passGap(checkpoint);
      previous = undefined;
    }
    const reasons = checkCheckpoint(needs, checkpoint, previous);
    if (reasons.length > 0)
      needs.report({ kind: 'checkpoint_changed', tenantId, checkpoint: n, detail: reasons.join('; ') });
    for (const anchor of left)
      if (isAnchorOf(anchor, checkpoint)) {
        left.delete(anchor);
        if (!isAnchored(anchor, checkpoint))
          needs.report({
            kind: 'anchor_differs',
            tenantId,
            checkpoint: n,
            detail: 'is not the one that was kept',
          });
      }
    await verifyRows(needs, { tenantId, rows, times, counts, isErased }, checkpoint, previous);
    previous = checkpoint;
    reached = n;
  }
  for (const { treeSize } of left)
    needs.report({
      kind: 'anchor_differs',
      tenantId,
      detail: `a tree of ${treeSize} rows was kept, and is gone`,
    });
  // The head is after the tenant's last checkpoint, so any row between the two was inserted after sealing.
  const end = previous?.last;
  let behind = 0;
  for (let row = rows.peek(); row !== undefined; row = rows.peek()) {
    behind += 1;
    if (!isIncomplete) reportAdded(needs, tenantId, row);
    await rows.advance();
  }
  counts.rows += behind;
  if (isIncomplete && behind > 0)
    needs.report({
      kind: 'checkpoint_missing',
      tenantId,
      checkpoint: reached + 1,
      detail: `${behind} rows behind ${end?.id ?? 'the beginning'} cannot be verified`,
    });
  return { ...counts, sealedLate: times.late() };
}

type Progress = {
  readonly tenantId: string;
  readonly rows: Rows;
  readonly times: ReturnType<typeof createTimeCheck>;
  readonly counts: { checkpoints: number; rows: number; sealedLate: number };
  readonly isErased: boolean;
};

/** Compares the rows of one checkpoint with what was sealed. */
async function verifyRows(
  needs: TenantVerifierNeeds,
  { tenantId, rows, times, counts, isErased }: Progress,
  checkpoint: ReadCheckpoint,
  previous: ReadCheckpoint | undefined,
): Promise<void> {
  const { n, seal, root, rowIds, leaves, last, sealedAt } = checkpoint;
  const finding = { tenantId, checkpoint: n };
  const before = treeBefore(checkpoint, previous);
  if (!isListSealed(checkpoint)) {
    needs.report({
      ...finding,
      kind: 'checkpoint_changed',
      detail: 'its list of rows is not what was sealed',
    });
    const tree = createMerkleTree(before);
    counts.rows += await take(rows, last, true, (row) => tree.add(hashRow(row)));
    if (before !== undefined && !isSameHash(tree.root(), root))
      needs.report({ ...finding, kind: 'rows_differ', detail: 'its rows are not what was sealed' });
    return;
  }
  if (before !== undefined && !isTreeGrown(checkpoint, before))
    needs.report({ ...finding, kind: 'checkpoint_changed', detail: 'its tree is not that of its rows' });
  // A log that was begun anew has its first seal long after its rows.
  const isSuspect = (row: AuditRow) => seal === 1 && isLate(row, sealedAt);
  let suspects = 0;
  const expected = new Map(rowIds.map((id, index) => [id, index * HASH_LENGTH]));
  const found: { readonly start: number; readonly rowId: string }[] = [];
  counts.rows += await take(rows, last, true, (row) => {
    const start = expected.get(row.id);
    if (start === undefined) {
      reportAdded(needs, tenantId, row);
      return;
    }
    expected.delete(row.id);
    found.push({ start, rowId: row.id });
    if (!isSameHash(hashRow(row), leaves.subarray(start, start + HASH_LENGTH)))
      return needs.report({
        ...finding,
        kind: 'row_changed',
        rowId: row.id,
        detail: 'is not what was sealed',
      });
    if (isSuspect(row)) suspects += 1;
    const wrong = times.check(row, sealedAt);
    if (wrong !== undefined)
      needs.report({ ...finding, kind: 'row_back_dated', rowId: row.id, detail: wrong });
  });
  for (const rowId of listDisplaced(found))
    needs.report({
      ...finding,
      kind: 'row_changed',
      rowId,
      detail: 'is not at the place where it was sealed',
    });
  if (suspects > 0)
    needs.report({
      ...finding,
      kind: 'first_seal_late',
      seal,
      detail: `${suspects} rows of the first seal say that they occurred more than 10 minutes before it: no worker ran after the installation, or the log was begun anew`,
    });
  if (isErased) return;
  for (const rowId of expected.keys())
    needs.report({ ...finding, kind: 'row_removed', rowId, detail: 'was sealed here, and is gone' });
}

function reportAdded({ report }: TenantVerifierNeeds, tenantId: string, row: AuditRow): void {
  report({ kind: 'row_added', tenantId, rowId: row.id, detail: 'was never sealed' });
}

function hashRow(row: AuditRow) {
  return hashLeaf(encodeAuditRow(row));
}

function isSealed(checkpoint: ReadCheckpoint): boolean {
  const { sealedHash } = checkpoint;
  const form = sealedForm(checkpoint, hashList(checkpoint));
  return sealedHash !== null && isSameHash(sealedHash, hashText(form));
}

function checkCheckpoint(
  needs: TenantVerifierNeeds,
  checkpoint: ReadCheckpoint,
  previous: Checkpoint | undefined,
): string[] {
  const { sealedHash, signature, keyId } = checkpoint;
  const statement = checkpointStatement(checkpoint);
  const reasons = checkChain(checkpoint, previous);
  const before = previous === undefined ? NOTHING_BEFORE : hashText(checkpointStatement(previous));
  if ((previous !== undefined || checkpoint.n === 1) && !isSameHash(checkpoint.previous, before))
    reasons.push('it does not continue the one before');
  if (!needs.verifySignature(statement, { keyId, bytes: signature })) reasons.push('its signature is wrong');
  if (sealedHash === null) reasons.push('its seal does not name it');
  else if (!isSealed(checkpoint)) reasons.push('its seal holds another hash');
  return reasons;
}

/** Returns whether the list of leaves is the sealed one. Only a sealed list shows which row was changed. */
function isListSealed(checkpoint: ReadCheckpoint): boolean {
  const { count, rowIds, leaves } = checkpoint;
  return rowIds.length === count && leaves.length === count * HASH_LENGTH && isSealed(checkpoint);
}

/** Returns whether a checkpoint's part of the tenant's tree follows from the tree before and its leaves. */
function isTreeGrown({ leaves, root, peaks, nodes }: ReadCheckpoint, before: TreeState): boolean {
  const tree = createMerkleTree(before);
  for (const leaf of splitHashes(leaves)) tree.add(leaf);
  const isSame = (stored: Uint8Array, hashes: readonly Uint8Array[]) => isSameHash(stored, joinBytes(hashes));
  return isSameHash(tree.root(), root) && isSame(peaks, tree.peaks()) && isSame(nodes, tree.kept());
}

/** Reads the rows up to a position. @param inclusive whether a row at this position is read */
async function take(
  rows: Rows,
  until: Position,
  inclusive: boolean,
  each: (row: AuditRow) => void,
): Promise<number> {
  for (let count = 0; ; count += 1) {
    const row = rows.peek();
    const order = row === undefined ? 1 : comparePositions(positionOf(row), until);
    if (row === undefined || order > 0 || (order === 0 && !inclusive)) return count;
    each(row);
    await rows.advance();
  }
}

type Rows = Awaited<ReturnType<typeof createLookahead<AuditRow>>>;

/**
 * Returns the tree that a checkpoint goes on with, or undefined when the checkpoint before it is missing. Peaks that do
 * not belong to the signed root are another finding, of the checkpoint before.
 */
function treeBefore({ n }: ReadCheckpoint, previous: ReadCheckpoint | undefined): TreeState | undefined {
  if (previous !== undefined) return { size: previous.treeSize, peaks: previous.peaks };
  return n > 1 ? undefined : { size: 0, peaks: new Uint8Array() };
}

/** Lists the rows that do not come in the order in which they were sealed. */
function listDisplaced(found: readonly { readonly start: number; readonly rowId: string }[]): string[] {
  const sealed = found.map(({ start }) => start).sort((a, b) => a - b);
  return found.filter(({ start }, index) => start !== sealed[index]).map(({ rowId }) => rowId);
}

function joinBytes(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.length * HASH_LENGTH);
  for (const [index, part] of parts.entries()) whole.set(part, index * HASH_LENGTH);
  return whole;
}

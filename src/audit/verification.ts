// Findings of a verification of the audit log, and checks that need no database.
import type { AuditRow } from './audit-row.ts';
import type { Beginning } from './beginning.ts';
import {
  type Checkpoint,
  checkpointStatement,
  comparePositions,
  originOf,
  type Position,
} from './checkpoint.ts';

export type FindingKind =
  | 'row_changed'
  | 'row_removed'
  | 'row_added'
  | 'row_back_dated'
  | 'rows_differ'
  | 'checkpoint_missing'
  | 'checkpoint_changed'
  | 'seal_missing'
  | 'seal_changed'
  | 'head_changed'
  | 'beginning_changed'
  | 'first_seal_late'
  | 'erasure_changed'
  | 'anchor_differs';

export type Finding = {
  readonly kind: FindingKind;
  readonly tenantId?: string | undefined;
  readonly rowId?: string | undefined;
  readonly checkpoint?: number | undefined;
  readonly seal?: number | undefined;
  readonly detail: string;
};

export type VerificationReport = {
  readonly tenants: number;
  readonly seals: number;
  readonly checkpoints: number;
  readonly rows: number;
  readonly findings: number;
  /** `rows`: number of rows after the last seal. `oldest`: `occurred_at` of the oldest of these rows. */
  readonly unsealed: { readonly rows: number; readonly oldest: string | null };
  /** Number of rows that were sealed long after `occurred_at`: nothing was sealing, or the insert was late. */
  readonly sealedLate: number;
  /** Null when it is missing or was never signed. */
  readonly beginning: Beginning | null;
};

/** How far a verification is. `of`: how many there are, where that is known. Seals are verified before rows. */
export type VerificationProgress = {
  readonly part: 'seals' | 'rows';
  readonly looked: number;
  readonly of: number | undefined;
};

/** A checkpoint that was stored outside the service. */
export type Anchor = {
  readonly tenantId: string;
  readonly treeSize: number;
  readonly statement: string;
};

/** Milliseconds: more than any transaction of the service takes, and more than the clocks of one database differ. */
export const LONGEST_TRANSACTION = 120_000;

const LATE = 600_000;

/** Returns whether a row was sealed long after it says that it occurred. */
export const isLate = (row: AuditRow, sealedAt: string): boolean =>
  Date.parse(sealedAt) - Number(row.occurred_at) > LATE;

/** @returns undefined when the text is not the signed text of a checkpoint */
export function parseAnchor(statement: string): Anchor | undefined {
  const [origin = '', size = '', root] = statement.split('\n');
  const tenantId = origin.startsWith(originOf('')) ? origin.slice(originOf('').length) : '';
  if (tenantId === '' || !/^[1-9]\d{0,14}$/.test(size) || root === undefined) return undefined;
  return { tenantId, treeSize: Number(size), statement };
}

/** Returns whether an anchor claims to be this checkpoint. */
export const isAnchorOf = (anchor: Anchor, { treeSize }: Pick<Checkpoint, 'treeSize'>): boolean =>
  anchor.treeSize === treeSize;

/**
 * Returns how a checkpoint contradicts the previous checkpoint.
 * @param previous the tenant's previous checkpoint; undefined for the first one, or when the previous one is missing
 */
export function checkChain(checkpoint: Checkpoint, previous: Checkpoint | undefined): string[] {
  const { n, count, treeSize, first, last } = checkpoint;
  const reasons: string[] = [];
  if (comparePositions(first, last) > 0) reasons.push('its last row comes before its first');
  if (n > 1 && previous === undefined) return reasons;
  if (treeSize !== (previous?.treeSize ?? 0) + count) reasons.push('its tree does not grow by its rows');
  if (previous !== undefined && comparePositions(previous.last, first) >= 0)
    reasons.push('it begins before the end of the one before');
  return reasons;
}

/** Creates a check of the times of a tenant's rows. The rows are passed in the order of their transactions. */
export function createTimeCheck() {
  let latest = Number.NEGATIVE_INFINITY;
  let late = 0;
  return {
    /** @returns why the row's `occurred_at` is impossible, or undefined when it is possible */
    check(row: AuditRow, sealedAt: string): string | undefined {
      const at = Number(row.occurred_at);
      const sealed = Date.parse(sealedAt);
      if (at > sealed + LONGEST_TRANSACTION) return `says ${timeOf(at)}, and was sealed at ${sealedAt}`;
      if (at < latest - LONGEST_TRANSACTION)
        return `says ${timeOf(at)}, and was written after a row of ${timeOf(latest)}`;
      latest = Math.max(latest, at);
      if (isLate(row, sealedAt)) late += 1;
      return undefined;
    },
    late: (): number => late,
  };
}

/** Wraps an async iterator so that the next item can be read before it is taken. */
export async function createLookahead<Item>(items: AsyncIterator<Item>) {
  let next = await items.next();
  return {
    peek: (): Item | undefined => (next.done ? undefined : next.value),
    advance: async (): Promise<void> => {
      next = await items.next();
    },
  };
}

export const positionOf = ({ xid, id }: AuditRow): Position => ({ xid, id });

export const isAnchored = (anchor: Anchor, checkpoint: Checkpoint): boolean =>
  anchor.statement === checkpointStatement(checkpoint);

function timeOf(milliseconds: number): string {
  const date = new Date(milliseconds);
  return Number.isNaN(date.getTime()) ? String(milliseconds) : date.toISOString();
}

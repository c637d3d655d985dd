// Positions of a reader of rows in the order (transaction, id), who misses no row that commits late. Pure.
// docs/decisions/0012-event-feed.md

/** What a statement saw: the transactions below `next` had ended, except the `unfinished` ones, in ascending order. */
export type SeenTransactions = { readonly next: bigint; readonly unfinished: readonly bigint[] };

/** The place of a row: its transaction, and its id as text. */
export type RowPlace = { readonly xid: bigint; readonly id: string };

/**
 * The rows up to `(xid, id)` were read, except those of the transactions in `open`, in ascending order, which were read
 * up to their own id: they had not ended, or filled more than a page.
 */
export type SnapshotPosition = RowPlace & { readonly open: readonly RowPlace[] };

/** @param ids an id below those of all rows, and one that is not below any */
export function createPositions({ least, greatest }: { readonly least: string; readonly greatest: string }) {
  const unread = (xid: bigint): RowPlace => ({ xid, id: least });
  const start: SnapshotPosition = { xid: 0n, id: least, open: [] };
  return {
    start,

    /**
     * The position after all rows that a statement saw, for a reader who has read none. Postgres can use the number of
     * a transaction anew that left nothing behind when it failed, so a reader who has read goes on `afterPage`.
     */
    afterAll: ({ next, unfinished }: SeenTransactions): SnapshotPosition => ({
      xid: next - 1n,
      id: greatest,
      open: unfinished.map(unread),
    }),

    /**
     * The position after a page after `position` with all that the statement saw. It is that of a row whose commit was
     * answered: a Postgres that has failed, and one that was promoted, has that commit and uses only higher numbers.
     * @param last the last row of the page, which may be empty
     */
    afterPage: (
      position: SnapshotPosition,
      last: RowPlace | undefined,
      { unfinished }: Pick<SeenTransactions, 'unfinished'>,
    ): SnapshotPosition => {
      const { xid, id } = last === undefined || isOpen(position, last) ? position : last;
      return { xid, id, open: unfinished.filter((one) => one < xid).map(unread) };
    },

    /**
     * @param last the last row of a page after `position`, which was cut there
     * @param seen by the statement that read the page
     */
    afterRow: (
      position: SnapshotPosition,
      last: RowPlace,
      { unfinished }: Pick<SeenTransactions, 'unfinished'>,
    ): SnapshotPosition => {
      const { xid, id } = last;
      const before = unfinished.filter((one) => one < xid).map(unread);
      if (!isOpen(position, last)) return { xid, id, open: before };
      const known = position.open.filter((row) => before.some((one) => one.xid === row.xid));
      const after = position.open.filter((row) => row.xid > xid);
      return { xid: position.xid, id: position.id, open: [...known, { xid, id }, ...after] };
    },
  };
}

/** Returns whether the row is of a transaction that the position left open. */
export function isOpen({ open }: SnapshotPosition, { xid }: RowPlace): boolean {
  return open.some((row) => row.xid === xid);
}

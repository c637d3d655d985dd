// Positions in the feed, and their bytes, which cursors hide (feed-cursor.node.ts). Pure.
import { MAX, NIL, parse, stringify } from 'uuid';
import { KEPT_DAYS } from '../../platform/database/kept-days.ts';
import {
  createPositions,
  isOpen,
  type RowPlace,
  type SeenTransactions,
  type SnapshotPosition,
} from '../../platform/database/snapshot-position.ts';

/**
 * Rows that were not read have ids that were made after `at` (milliseconds), or at most `FEED_SLACK_MS` before.
 */
export type FeedPosition = SnapshotPosition & { readonly at: number };

/** Longer than any transaction, and than any difference between two clocks. */
export const FEED_SLACK_MS = 3_600_000;

export const FEED_KEPT_MS = KEPT_DAYS * 86_400_000;

/** The most characters of a cursor, a multiple of 64. That of a thousand unfinished transactions has fewer. */
export const MAX_CURSOR_LENGTH = 4_032;

export const FEED_CURSOR = new RegExp(`^[A-Za-z0-9_-]{40,${MAX_CURSOR_LENGTH}}$`);

/** No id is after it. */
export const LAST_ID = MAX;

const positions = createPositions({ least: NIL, greatest: LAST_ID });

export const FEED_START: FeedPosition = { ...positions.start, at: 0 };

/** A place that no row has: all are before it. */
export const NEWEST: RowPlace = { xid: 2n ** 64n - 1n, id: MAX };

/** @returns the position after all rows that a statement saw at the time `at` */
export function positionAfterAll(seen: SeenTransactions, at: number): FeedPosition {
  return { ...positions.afterAll(seen), at };
}

/** @returns the position after a page with all that a statement saw at the time `at`, and whose last row is `last` */
export function positionAfterPage(
  position: FeedPosition,
  last: RowPlace | undefined,
  seen: Pick<SeenTransactions, 'unfinished'>,
  at: number,
): FeedPosition {
  return { ...positions.afterPage(position, last, seen), at };
}

/**
 * @param last the last row of a page after `position`, which was cut there
 * @param seen by the statement that read the page
 */
export function positionAfterRow(
  position: FeedPosition,
  last: RowPlace,
  seen: Pick<SeenTransactions, 'unfinished'>,
): FeedPosition {
  const at = isOpen(position, last) ? position.at : timeOf(last.id);
  return { ...positions.afterRow(position, last, seen), at };
}

/** @param id a UUIDv7, whose first 48 bits are its time */
export const timeOf = (id: string) => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);

/**
 * Writes a position as bytes: transaction (8 bytes), id (16) and time (6); then of each open transaction, the
 * latest first, how far it is before the one before (LEB128), and a zero byte and the id if some of it was read.
 */
export function encodePosition({ xid, id, open, at }: FeedPosition): Uint8Array {
  const head = new Uint8Array(30);
  const view = new DataView(head.buffer);
  view.setBigUint64(0, xid);
  head.set(parse(id), 8);
  view.setUint16(24, Math.floor(at / 2 ** 32));
  view.setUint32(26, at % 2 ** 32);
  const bytes = [...head];
  let last = xid + 1n;
  for (const row of open.toReversed()) {
    for (let rest = last - row.xid; rest > 0n; rest >>= 7n)
      bytes.push(Number(rest & 127n) | (rest > 127n ? 128 : 0));
    if (row.id !== NIL) bytes.push(0, ...parse(row.id));
    last = row.xid;
  }
  return Uint8Array.from(bytes);
}

/** @returns undefined for bytes that `encodePosition` did not make */
export function decodePosition(bytes: Uint8Array): FeedPosition | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    const xid = view.getBigUint64(0);
    const position = {
      xid,
      id: stringify(bytes.subarray(8, 24)),
      open: decodeOpen(bytes.subarray(30), xid + 1n),
      at: view.getUint16(24) * 2 ** 32 + view.getUint32(26),
    };
    const exact = encodePosition(position);
    return exact.length === bytes.length && exact.every((byte, n) => byte === bytes[n])
      ? position
      : undefined;
  } catch {
    return undefined;
  }
}

/** @param next the transaction after the last one that may be open */
function decodeOpen(bytes: Uint8Array, next: bigint): RowPlace[] {
  const open: { xid: bigint; id: string }[] = [];
  let last = next;
  let rest = 0n;
  let bits = 0n;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    const before = open[0];
    if (byte === 0 && bits === 0n && before !== undefined) {
      before.id = stringify(bytes.subarray(at + 1, at + 17));
      at += 16;
      continue;
    }
    rest |= BigInt(byte & 127) << bits;
    bits += 7n;
    if (byte > 127) continue;
    last -= rest;
    if (last < 0n) throw new RangeError('no transaction has such a number');
    open.unshift({ xid: last, id: NIL });
    [rest, bits] = [0n, 0n];
  }
  return open;
}

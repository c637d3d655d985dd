// Positions in the feed, and the opaque cursors that encode them. Pure.
import { MAX, parse, stringify } from 'uuid';
import { decodeBase64, encodeBase64Url } from '../../platform/crypto/base64.ts';

/**
 * After the row `id` that transaction `xid` wrote. Later rows of the feed have ids that were made after `at`
 * (milliseconds), or at most `FEED_SLACK_MS` before.
 */
export type FeedPosition = { readonly xid: bigint; readonly id: string; readonly at: number };

/** Longer than any transaction, and than any difference between two clocks. */
export const FEED_SLACK_MS = 3_600_000;

export const FEED_KEPT_MS = 30 * 86_400_000;

export const FEED_CURSOR = /^[A-Za-z0-9_-]{40}$/;

export const FEED_START: FeedPosition = { xid: 0n, id: '00000000-0000-0000-0000-000000000000', at: 0 };

/** @returns the position after all rows of transactions below the horizon */
export function positionBefore(horizon: bigint, at: number): FeedPosition {
  return { xid: horizon - 1n, id: MAX, at };
}

/** @param row.id a UUIDv7, whose first 48 bits are its time */
export function positionOf(row: { readonly xid: bigint; readonly id: string }): FeedPosition {
  return { ...row, at: Number.parseInt(row.id.replaceAll('-', '').slice(0, 12), 16) };
}

/** Encodes a position as transaction (8 bytes), id (16) and time (6), in base64url. */
export function encodePosition({ xid, id, at }: FeedPosition): string {
  const bytes = new Uint8Array(30);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, xid);
  bytes.set(parse(id), 8);
  view.setUint16(24, Math.floor(at / 2 ** 32));
  view.setUint32(26, at % 2 ** 32);
  return encodeBase64Url(bytes);
}

/** @returns undefined for a text that `encodePosition` did not make */
export function decodePosition(cursor: string): FeedPosition | undefined {
  const bytes = FEED_CURSOR.test(cursor) ? decodeBase64(cursor) : null;
  if (bytes === null || bytes.length !== 30) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    return {
      xid: view.getBigUint64(0),
      id: stringify(bytes.subarray(8, 24)),
      at: view.getUint16(24) * 2 ** 32 + view.getUint32(26),
    };
  } catch {
    return undefined;
  }
}

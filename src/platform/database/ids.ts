// Ids of rows: UUIDv7 (RFC 9562 §5.7), made by this process so that a statement can be repeated with the same ids.
// Their time is the database's, because it says which tokens were issued before they ended.
// docs/decisions/0002-ids-and-partitions.md
// docs/decisions/0044-times-of-tokens.md
import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

/** Ids for which random bytes are drawn in one call, because the call costs more than the bytes. */
const DRAWN = 256;

/** Random bytes of one id: first the start of its sequence, then its random part in the order of `uuid`. */
const TAKEN = 20;

const drawn = Buffer.alloc(DRAWN * TAKEN);
let used = drawn.length;
let time = (): number => Date.now();
let msecs = 0;
let seq = 0;

/** Sets the clock of all ids of this process, which has one database. @param clock milliseconds since 1970 */
export function timeIdsBy(clock: () => number): void {
  time = clock;
}

/** A new UUID, greater than every earlier one of this process, unless its clock went back. */
export function newId(): string {
  if (used === drawn.length) {
    randomFillSync(drawn);
    used = 0;
  }
  const now = time();
  if (now === msecs) {
    seq += 1;
  } else {
    msecs = now;
    // 31 random bits, so that at least as many sequence numbers remain in the millisecond (RFC 9562 §6.2, method 1).
    seq = drawn.readUInt32LE(used) >>> 1;
  }
  const random = drawn.subarray(used + 4, used + TAKEN);
  used += TAKEN;
  return v7({ msecs, seq, random });
}

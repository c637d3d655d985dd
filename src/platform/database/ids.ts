// Ids of rows: UUIDv7 (RFC 9562 §5.7), made by this process so that a statement can be repeated with the same ids.
// docs/decisions/0002-ids-and-partitions.md
import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

/** Ids for which random bytes are drawn in one call, because the call costs more than the bytes. */
const DRAWN = 256;

/** Random bytes of one id: first the start of its sequence, then its random part in the order of `uuid`. */
const TAKEN = 20;

const drawn = Buffer.alloc(DRAWN * TAKEN);
let used = drawn.length;
let msecs = 0;
let seq = 0;

/** A new UUID, greater than every earlier one of this process. */
export function newId(): string {
  if (used === drawn.length) {
    randomFillSync(drawn);
    used = 0;
  }
  const now = Date.now();
  if (now > msecs) {
    msecs = now;
    // 31 random bits, so that at least as many sequence numbers remain in the millisecond (RFC 9562 §6.2, method 1).
    seq = drawn.readUInt32LE(used) >>> 1;
  } else {
    seq += 1;
    if (seq > 0xffff_ffff) {
      seq = 0;
      msecs += 1;
    }
  }
  const random = drawn.subarray(used + 4, used + TAKEN);
  used += TAKEN;
  return v7({ msecs, seq, random });
}

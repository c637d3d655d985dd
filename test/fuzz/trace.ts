// Makes the place to which instrumented code writes. It must exist before any parser is loaded.
import { BRANCHES, type Trace } from './branches.ts';

declare global {
  var __trace: Trace;
}

const MOST_PAIRS = 512;
const LONGEST = 64;

/** Pairs of different texts that were compared lately. */
export const compared: [seen: string, expected: string][] = [];
let next = 0;

globalThis.__trace = {
  counts: new Uint8Array(BRANCHES),
  same(left, right) {
    if (left === right) return true;
    if (
      typeof left === 'string' &&
      typeof right === 'string' &&
      left.length <= LONGEST &&
      right.length <= LONGEST
    ) {
      compared[next] = [left, right];
      next = (next + 1) % MOST_PAIRS;
    }
    return false;
  },
};

export const { counts } = globalThis.__trace;

// A rest after a failure that grows with each further one. Pure: the clock comes in.

/** Milliseconds after a failure that comes alone, doubling up to the second. */
const LEAST = 100;
const LONGEST = 5_000;

/** @param now milliseconds of any steady clock */
export function createPause(now: () => number) {
  let length = 0;
  let until = Number.NEGATIVE_INFINITY;
  return {
    /** Begins after a failure. Failures of what was under way together count once. */
    begin: (): void => {
      if (now() < until) return;
      if (now() - until > LONGEST) length = 0;
      length = Math.min(Math.max(length * 2, LEAST), LONGEST);
      until = now() + length;
    },
    /** Ends it: something has worked. */
    end: (): void => {
      length = 0;
      until = Number.NEGATIVE_INFINITY;
    },
    /** Milliseconds that are left; 0: none. */
    left: (): number => Math.max(0, until - now()),
  };
}

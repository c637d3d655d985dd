// A pause after a failure, which grows with each further one. Pure: the clock is a parameter.

/** Milliseconds after a first failure, doubling up to the longest. */
const LEAST = 100;
const LONGEST = 5_000;

/** @param now milliseconds of any steady clock */
export function createPause(now: () => number) {
  let length = 0;
  let until = Number.NEGATIVE_INFINITY;
  return {
    /** Begins after a failure. Failures during a pause do not count: their calls were under way before. */
    begin: (): void => {
      if (now() < until) return;
      if (now() - until > LONGEST) length = 0;
      length = Math.min(Math.max(length * 2, LEAST), LONGEST);
      until = now() + length;
    },
    /** Ends after a success. */
    end: (): void => {
      length = 0;
      until = Number.NEGATIVE_INFINITY;
    },
    /** Milliseconds that are left; 0 without a pause. */
    left: (): number => Math.max(0, until - now()),
  };
}

// A pause after a failure; each further failure doubles it. Pure: the clock is a parameter.

/** Milliseconds of the pause after the first failure, and of the longest pause. */
const LEAST = 100;
const LONGEST = 5_000;

/** @param now milliseconds of any steady clock */
export function createPause(now: () => number) {
  let length = 0;
  let until = Number.NEGATIVE_INFINITY;
  return {
    /** Begins a pause. Failures during a pause do not count: their calls began before it. */
    begin: (): void => {
      if (now() < until) return;
      if (now() - until > LONGEST) length = 0;
      length = Math.min(Math.max(length * 2, LEAST), LONGEST);
      until = now() + length;
    },
    /** Ends the pause after a success. */
    end: (): void => {
      length = 0;
      until = Number.NEGATIVE_INFINITY;
    },
    /** Milliseconds that remain; 0 without a pause. */
    left: (): number => Math.max(0, until - now()),
  };
}

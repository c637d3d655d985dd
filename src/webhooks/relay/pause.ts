// A pause after a failure. Each further failure doubles the pause. Pure: the clock is a parameter.

/** The first and the longest pause, in milliseconds. */
const LEAST = 100;
const LONGEST = 5_000;

export function createPause(now: () => number) {
  let length = 0;
  let until = Number.NEGATIVE_INFINITY;
  return {
    /** Begins a pause. A failure during a pause is ignored, because its call began before the pause. */
    begin: (): void => {
      if (now() < until) return;
      if (now() - until > LONGEST) length = 0;
      length = Math.min(Math.max(length * 2, LEAST), LONGEST);
      until = now() + length;
    },
    end: (): void => {
      length = 0;
      until = Number.NEGATIVE_INFINITY;
    },
    left: (): number => Math.max(0, until - now()),
  };
}

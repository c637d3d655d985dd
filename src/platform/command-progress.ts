// Progress of a command that takes long: a line now and then, beside its answer.

const INTERVAL = 5_000;

/** @returns a function that tells its line when five seconds have passed since the one before */
export function createProgress(tell: (line: string) => void): (line: () => string) => void {
  let told = performance.now();
  return (line) => {
    const now = performance.now();
    if (now - told < INTERVAL) return;
    told = now;
    tell(line());
  };
}

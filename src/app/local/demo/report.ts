// Prints the demo's steps and remembers whether all of its checks passed.

/** @param print writes one line */
export function createReport(print: (line: string) => void) {
  const started = Date.now();
  let held = 0;
  const broken: string[] = [];
  const line = (mark: string, text: string) =>
    print(`${((Date.now() - started) / 1000).toFixed(1).padStart(6)} s  ${mark} ${text}`);
  return {
    section: (title: string) => print(`\n${title}`),
    step: (text: string) => line('·', text),
    check: (text: string, holds: boolean) => {
      if (holds) held += 1;
      else broken.push(text);
      line(holds ? '✓' : '✗', text);
    },
    /** Prints the number of checks. @returns whether every check passed */
    finish: (): boolean => {
      print(`\n${held} checks held, ${broken.length} did not.`);
      for (const text of broken) print(`  ✗ ${text}`);
      return broken.length === 0 && held > 0;
    },
  };
}

export type Report = ReturnType<typeof createReport>;

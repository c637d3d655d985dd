// Forms by which a test judges how busy the machine is, found in its text: test/architecture.test.ts refuses them.

const CLOCK = String.raw`(?:Date|performance)\.now\(\)`;
/** Time that has passed, by a clock or as the product measures it. Less a number it is a moment: `now() - 60_000`. */
const PASSED = new RegExp(
  String.raw`${CLOCK}(?: / 1_?000)? - (?![\d(]|[A-Z_]+\b)|- ${CLOCK}|\b(?:\w*[dD]uration_?[mM]s|total_ms)\b`,
);
const UNPACKED = /\b(?:\w*[dD]uration_?[mM]s|total_ms): (\w+)\b/g;
const ASSIGNED = /\b(\w+)(?: \+?=|:) ([^;]+?[;,\n])|\b(\w+)\.push\(([^;]+);/g;
const CEILING = /expect\(((?:(?!expect\()[^;])*?)\)\s*\.(?:toBeLessThan|not\s*\.toBeGreaterThan)/g;
const NAP =
  /await (?:(?:sleep|pause|delay)\([^;\n]*\)|new Promise\(\(\w+\) => setTimeout\(\w+, [^)]*\)\));\s*(?:\/\/[^\n]*\s*)*expect\(/g;

/** @returns what is expected to take less than some time */
export function findCeilings(text: string): string[] {
  const passed = new Set([...text.matchAll(UNPACKED)].map(([, name = '']) => name));
  const isPassed = (expression: string) =>
    PASSED.test(expression) || [...passed].some((name) => new RegExp(`\\b${name}\\b`).test(expression));
  // What is computed from such a value is one, too.
  for (let known = -1; known < passed.size; ) {
    known = passed.size;
    for (const [, name, value, list, pushed] of text.matchAll(ASSIGNED))
      if (isPassed(value ?? pushed ?? '')) passed.add(name ?? list ?? '');
  }
  return [...text.matchAll(CEILING)].map(([, expected = '']) => expected).filter(isPassed);
}

/** @returns sleeps after which something is expected at once: that nothing has come, or that something has */
export const findNaps = (text: string): string[] => [...text.matchAll(NAP)].map(([nap]) => nap);

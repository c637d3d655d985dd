// Forms by which a test judges how busy the machine is, found in its text: test/time.test.ts refuses them.

const CLOCK = String.raw`(?:Date|performance)\.now\(\)`;
/** Time that has passed, by a clock or as the product measures it. Less a number it is a moment: `now() - 60_000`. */
const PASSED = new RegExp(
  String.raw`${CLOCK}(?: / 1_?000)? - (?![\d(]|[A-Z_]+\b)|- ${CLOCK}|TimeUnixNano\)* - |\b(?:\w*[dD]uration_?[mM]s|total_ms)\b`,
);
const UNPACKED = /\b(?:\w*[dD]uration_?[mM]s|total_ms): (\w+)\b/g;
const ASSIGNED = /\b(\w+)(?: \+?=|:) ([^;]+?[;,\n])|\b(\w+)\.push\(([^;]+);/g;
const CEILING = /expect\(((?:(?!expect\()[^;])*?)\)\s*\.(?:toBeLessThan|not\s*\.toBeGreaterThan)/g;
/** A pause, then an expectation: also of what was read just before it, and also against a pause. */
const NAP =
  /await (?:(?:sleep|pause|delay)\([^;\n]*\)|new Promise\(\(\w+\) => setTimeout\(\w+, [^)]*\)\));\s*(?:\/\/[^\n]*\s*)*(?:const [^;]+;\s*){0,2}expect\(/g;
const BET = /Promise\.race\(\[[^;]*?setTimeout\(/g;
/** The calls that wait until something has come, with how long. */
const WAITS = /\b(vi\s*\.wait(?:For|Until)|expect\s*\.poll|eventually)\(/g;
const OWN_LIMIT = /\btimeout: ([\d_]+)|, ?([\d_]+),?\s*$/;
/** How long a loop waits, as a name that says so. */
const OWN_END = /\b(?:deadline|until) = (?:Date|performance)\.now\(\) \+ ([\d_]+);/g;
const LEAST_PATIENCE = 60_000;

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

/** @returns sleeps after which something is expected immediately: that nothing has come, or that something has */
export const findNaps = (text: string): string[] =>
  [...text.matchAll(NAP), ...text.matchAll(BET)].map(([nap]) => nap);

/** @returns waits that end sooner than a busy machine may need: `vi.waitFor` gives up after a second by itself */
export function findImpatience(text: string): string[] {
  const isShort = (milliseconds: string) => Number(milliseconds.replaceAll('_', '')) < LEAST_PATIENCE;
  const waits = [...text.matchAll(WAITS)].flatMap(({ 0: call, 1: name = '', index }) => {
    const given = readArguments(text, index + call.length);
    const [, option, last] = OWN_LIMIT.exec(given) ?? [];
    const own = option ?? last;
    if (own === undefined) return name.startsWith('vi') && !given.includes('PATIENCE') ? [call + given] : [];
    return isShort(own) ? [call + given] : [];
  });
  const ends = [...text.matchAll(OWN_END)].flatMap(([end, own = '']) => (isShort(own) ? [end] : []));
  return [...waits, ...ends];
}

/** @returns limits that a case, its hooks or a program have beside the one that no busy machine reaches */
export const findOwnLimits = (text: string): string[] =>
  [...text.matchAll(/\btimeout: \d{2,3}_000\b|^ *\}, \d{2,3}_000\);$/gm)].map(([limit]) => limit);

/** @returns the text from `start` to the parenthesis that ends the arguments */
function readArguments(text: string, start: number): string {
  let end = start;
  for (let depth = 1; end < text.length; end += 1) {
    if (text[end] === '(') depth += 1;
    if (text[end] === ')') depth -= 1;
    if (depth === 0) break;
  }
  return text.slice(start, end);
}

// Merges two texts in the Prometheus exposition format, version 0.0.4, so that each metric family appears once.
// docs/decisions/0017-metrics.md

type Family = { readonly name: string; readonly lines: string[] };

const COMMENT = /^# (?:HELP|TYPE) (\S+)/;
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)/;
const PARTS = /_(?:bucket|sum|count)$/;

/**
 * @param first kept whole
 * @param second loses the families that `first` has, and lines outside a family
 */
export function mergeExpositions(first: string, second: string): string {
  const known = new Set(familiesOf(first).map(({ name }) => name));
  const added = new Map<string, string[]>();
  for (const { name, lines } of familiesOf(second)) {
    if (known.has(name)) continue;
    const before = added.get(name);
    // The comments of a family may appear only once, so a later block adds only its samples.
    if (before === undefined) added.set(name, lines);
    else before.push(...lines.filter((line) => !line.startsWith('#')));
  }
  const texts = [...added.values()].map((lines) => `${lines.join('\n')}\n`);
  return [first.endsWith('\n') || first === '' ? first : `${first}\n`, ...texts].join('');
}

/** The families of a text in order. A family whose samples are in several places appears several times. */
export function familiesOf(text: string): Family[] {
  const families: { name: string; lines: string[] }[] = [];
  for (const line of text.split('\n')) {
    const comment = COMMENT.exec(line)?.[1];
    const sample = comment === undefined && !line.startsWith('#') ? SAMPLE.exec(line)?.[1] : undefined;
    const name = comment ?? sample;
    if (name === undefined) continue;
    const current = families.at(-1);
    const belongs =
      current !== undefined &&
      (current.name === name || (sample !== undefined && current.name === name.replace(PARTS, '')));
    if (belongs) current.lines.push(line);
    else families.push({ name, lines: [line] });
  }
  return families;
}

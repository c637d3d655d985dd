// Reads metrics as Prometheus does, and queries as far as their names and labels go.

export type Sample = {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
};
/** A metric by the name that its TYPE says. */
export type Family = {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: Sample[];
};

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\.)*)",?/y;

/**
 * @throws Error for what is no valid exposition: a line that is none, a family twice or without its comments, a sample
 *   twice
 */
export function parseExposition(text: string): Map<string, Family> {
  const families = new Map<string, Family>();
  const seen = new Set<string>();
  let help = '';
  let current: Family | undefined;
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const [mark, kind, name = '', ...rest] = line.split(' ');
    if (mark === '#' && kind === 'HELP') help = rest.join(' ');
    else if (mark === '#' && kind === 'TYPE') {
      if (families.has(name)) throw new Error(`${name} comes twice`);
      current = { name, type: rest[0] ?? '', help, samples: [] };
      families.set(name, current);
    } else {
      const match = LINE.exec(line);
      if (match === null) throw new Error(`no sample: ${line}`);
      const [, metric = '', inner = '', value] = match;
      const base =
        current?.type === 'histogram' || current?.type === 'summary'
          ? metric.replace(/_(bucket|sum|count)$/, '')
          : metric;
      if (current === undefined || base !== current.name)
        throw new Error(`${metric} stands in no family of its own`);
      const identity = line.slice(0, line.lastIndexOf(' '));
      if (seen.has(identity)) throw new Error(`twice: ${identity}`);
      seen.add(identity);
      current.samples.push({
        name: metric,
        labels: parseLabels(inner),
        value: Number(value?.replace('Inf', 'Infinity')),
      });
    }
  }
  return families;
}

function parseLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < text.length) {
    const match = LABEL.exec(text);
    if (match === null) throw new Error(`no labels: ${text}`);
    labels[match[1] ?? ''] = match[2] ?? '';
  }
  return labels;
}

const GROUPING = /\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)/g;
const WORDS = new Set(['and', 'or', 'unless', 'bool', 'offset', 'inf', 'nan']);

/** The metrics that a query names, with the labels that it wants of each, and the labels that it groups by. */
export function readQuery(expression: string): {
  metrics: { name: string; labels: string[] }[];
  grouping: string[];
} {
  const grouping = [...expression.matchAll(GROUPING)]
    .flatMap((match) => (match[1] ?? '').split(',').map((label) => label.trim()))
    .filter((label) => label !== '');
  const plain = expression.replaceAll(GROUPING, ' ').replaceAll(/\[[^\]]*\]/g, ' ');
  const metrics: { name: string; labels: string[] }[] = [];
  for (const match of plain.matchAll(
    /"(?:[^"\\]|\\.)*"|([a-zA-Z_:][\w:]*)\s*(\(|\{(?:[^}"]|"(?:[^"\\]|\\.)*")*\})?/g,
  )) {
    const [, name, next = ''] = match;
    if (name === undefined || next === '(' || WORDS.has(name) || /^\d/.test(name)) continue;
    // What is left of a duration, or of a number with an exponent.
    if (/[\d.]/.test(plain[match.index - 1] ?? '')) continue;
    const labels = [...next.matchAll(/([a-zA-Z_]\w*)\s*(?:=~|!~|!=|=)\s*"/g)].map((label) => label[1] ?? '');
    metrics.push({ name, labels });
  }
  return { metrics, grouping };
}

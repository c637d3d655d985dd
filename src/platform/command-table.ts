// Tables and listings of fields, for people: they fit the width of the terminal. Pure.
import { relativeTime } from './command-times.ts';
import { isObject } from './json-values.ts';

export type Column<Row> = {
  readonly heading: string;
  readonly cell: (row: Row) => unknown;
  /** Never cut: what is copied into the next command. */
  readonly whole?: true;
};

const GAP = '  ';
/** In a pipe no text is cut; one that is longer widens its own line only. */
const WIDEST_PAD = 60;
/** A column is cut down to this. */
const NARROWEST = 8;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z$/;

/**
 * @param width columns of the terminal; undefined cuts nothing, and leaves times as they are
 * @returns lines, the first with the headings
 */
export function formatTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { width, now }: { width: number | undefined; now: number },
): string[] {
  const texts = rows.map((row) => columns.map(({ cell }) => describeValue(cell(row), { width, now })));
  const headings = columns.map(({ heading }) => heading.toUpperCase());
  const widths = columns.map((_, n) => Math.max(...[headings, ...texts].map((line) => line[n]?.length ?? 0)));
  if (width !== undefined) narrow(widths, columns, width);
  return [headings, ...texts].map((line) =>
    line
      .map((text, n) => cut(text, widths[n] ?? 0).padEnd(Math.min(widths[n] ?? 0, width ?? WIDEST_PAD)))
      .join(GAP)
      .trimEnd(),
  );
}

/** One line for each field; objects become `a.b`, lists of objects a table below their name. */
export function formatFields(
  value: Readonly<Record<string, unknown>>,
  options: { width: number | undefined; now: number },
): string[] {
  const fields = flatten(value);
  const longest = Math.max(...fields.map(([name]) => name.length));
  return fields.flatMap(([name, field]) => {
    if (!isListOfObjects(field)) return [`${name.padEnd(longest)}${GAP}${describeField(field, options)}`];
    const columns = columnsOf(field);
    return ['', name, ...formatTable(columns, field, options).map((line) => `${GAP}${line}`)];
  });
}

/** Cuts the widest column by one character until the table fits, or nothing more may be cut. */
function narrow(widths: number[], columns: readonly Column<never>[], width: number): void {
  const total = () => widths.reduce((sum, each) => sum + each, GAP.length * (widths.length - 1));
  while (total() > width) {
    let widest = -1;
    for (const [n, each] of widths.entries())
      if (columns[n]?.whole === undefined && each > NARROWEST && each > (widths[widest] ?? 0)) widest = n;
    if (widest === -1) return;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
}

const cut = (text: string, width: number) => (text.length > width ? `${text.slice(0, width - 1)}…` : text);

function describeValue(value: unknown, { width, now }: { width: number | undefined; now: number }): string {
  if (value === null || value === undefined || value === '') return '-';
  if (Array.isArray(value)) return value.map((each) => describeValue(each, { width, now })).join(' ') || '-';
  if (typeof value === 'object') return oneLine(JSON.stringify(value));
  const text = String(value);
  return width !== undefined && TIME.test(text) ? relativeTime(Date.parse(text), now) : oneLine(text);
}

function describeField(value: unknown, options: { width: number | undefined; now: number }): string {
  const text = describeValue(value, { ...options, width: undefined });
  const isTime = options.width !== undefined && typeof value === 'string' && TIME.test(value);
  return isTime ? `${text}  (${relativeTime(Date.parse(value), options.now)})` : text;
}

/** Names come from other people: a control character must not reach the terminal. */
const oneLine = (text: string) => text.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, '\uFFFD');

function flatten(value: Readonly<Record<string, unknown>>, prefix = ''): [string, unknown][] {
  return Object.entries(value).flatMap(([name, field]): [string, unknown][] =>
    isObject(field) && Object.keys(field).length > 0
      ? flatten(field, `${prefix}${name}.`)
      : [[`${prefix}${name}`, field]],
  );
}

function columnsOf(
  rows: readonly Readonly<Record<string, unknown>>[],
): Column<Readonly<Record<string, unknown>>>[] {
  const names = new Set(rows.flatMap((row) => Object.keys(row).filter((name) => !isObject(row[name]))));
  return [...names].map((heading) => ({ heading, cell: (row) => row[heading] }));
}

const isListOfObjects = (value: unknown): value is Readonly<Record<string, unknown>>[] =>
  Array.isArray(value) && value.length > 0 && value.every(isObject);

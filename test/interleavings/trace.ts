// What a schedule did, step by step: which unit sent which statement, and what became of it. Two runs of a seed are the
// same when their traces are.

/**
 * `waits`: for a lock of another unit. `killed`: its connection was ended before the statement. `lost`: the statement
 * was made, and its connection was ended before the answer.
 */
export type Note = 'waits' | 'killed' | 'lost';

export type Step = { readonly unit: string; readonly statement: string; readonly note?: Note | undefined };

const TABLES = /\b(?:UPDATE|INTO|FROM|JOIN) "?(?!OF\b|SKIP\b|SET\b|LATERAL\b|unnest\b)([a-z]\w+)/g;
const WRITES = /(?<!FOR |NO KEY )\b(UPDATE|INSERT INTO|DELETE FROM) "?(?!OF\b|SKIP\b|SET\b)(\w+)/g;
const LOCKS = /\bFOR (?:NO KEY UPDATE|UPDATE|KEY SHARE|SHARE)(?: OF [a-z, ]+)?(?: SKIP LOCKED| NOWAIT)?/g;
const SHOWN = 60;

/** What a statement writes, or else reads, and which rows it locks; its first words where it names no table. */
export function nameStatement(text: string): string {
  const words = text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/'[^']*'/g, '?')
    .trim();
  const writes = [...words.matchAll(WRITES)].map(([, verb, table]) => `${verb} ${table}`);
  const locks = [...words.matchAll(LOCKS)].map(([lock]) => lock.trim());
  if (writes.length > 0) return [...new Set([...writes, ...locks])].join(', ');
  const tables = [...words.matchAll(TABLES)].map(([, table]) => table ?? '');
  if (tables.length === 0) return words.slice(0, SHOWN);
  return [`SELECT ${[...new Set(tables)].join(', ')}`, ...new Set(locks)].join(' ');
}

/** One line for each step, as a person reads it. */
export function printTrace(steps: readonly Step[]): string {
  const width = Math.max(0, ...steps.map(({ unit }) => unit.length));
  return steps
    .map(({ unit, statement, note }, n) =>
      [String(n + 1).padStart(3), unit.padEnd(width), (note ?? '').padEnd(6), statement].join('  ').trimEnd(),
    )
    .join('\n');
}

// The rule for migrations after the baseline: nothing that the former version reads or writes is taken away. It judges
// the text, and knows no more of SQL than migrations use.

/** What only a call runs, and what is no statement: bodies of functions, comments, texts. */
const NO_STATEMENT = /\bAS\s+(\$\w*\$)[\s\S]*?\1|--[^\n]*|'(?:[^']|'')*'/gi;

/** A constraint may be replaced by a wider one; an index is no row. */
const RULES: readonly RegExp[] = [
  /\bDROP\s+(?!INDEX\b|CONSTRAINT\b|NOT\s+NULL\b)\S+/i,
  /\bRENAME\b/i,
  /\bALTER\s+(COLUMN\s+)?\w+\s+(SET\s+DATA\s+)?TYPE\b/i,
  /\bDETACH\s+PARTITION\b/i,
  /\b(DELETE\s+FROM|TRUNCATE(?!\s+ON))\b/i,
];

const DEFAULT_SET = /\bALTER\s+(?:COLUMN\s+)?(\w+)\s+SET\s+DEFAULT\b/gi;
const MADE_REQUIRED = /\bALTER\s+(?:COLUMN\s+)?(\w+)\s+SET\s+NOT\s+NULL\b/gi;
const COLUMN_ADDED = /\bADD\s+(?:COLUMN\s+)?(?!CONSTRAINT\b|CHECK\b|UNIQUE\b|PRIMARY\b|FOREIGN\b)\w+/i;

/**
 * @returns the part of the SQL that the former version, or a row of its, would not survive; undefined when there is
 *   none
 */
export function findDestruction(sql: string): string | undefined {
  const text = sql.replaceAll(NO_STATEMENT, ' ');
  for (const rule of RULES) {
    const found = rule.exec(text);
    if (found !== null) return found[0];
  }
  const defaults = new Set([...text.matchAll(DEFAULT_SET)].map(([, column]) => column));
  for (const [found, column] of text.matchAll(MADE_REQUIRED)) if (!defaults.has(column)) return found;
  return splitClauses(text).find(
    (clause) =>
      COLUMN_ADDED.test(clause) && /\bNOT\s+NULL\b/i.test(clause) && !/\b(DEFAULT|GENERATED)\b/i.test(clause),
  );
}

/** Splits at commas and semicolons outside brackets. */
function splitClauses(text: string): string[] {
  const clauses = [''];
  let depth = 0;
  for (const letter of text) {
    if (letter === '(') depth += 1;
    if (letter === ')') depth -= 1;
    if (depth === 0 && /[,;]/.test(letter)) clauses.push('');
    else clauses[clauses.length - 1] += letter;
  }
  return clauses;
}

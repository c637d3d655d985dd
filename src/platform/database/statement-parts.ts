// One statement out of parts that several rooms own: each part is one or more WITH queries. It must never read or change their SQL,
// apart from the numbers of placeholders.

/** WITH queries, without the keyword; placeholders count from $1. `valuesOf` gives as many values, in their order. */
export type StatementPart<Input> = {
  readonly text: string;
  readonly valuesOf: (input: Input) => readonly unknown[];
};

/** The name of the WITH query (one column, `guard text`) that lists the guards of the rows which may be written. */
export const ADMITTED = 'admitted';

/** The name of the WITH query (one column, `id uuid`) that lists the keys which the statement makes used for the first time. */
export const FIRST_USED = 'first_used';

const PLACEHOLDER = /\$(\d+)/g;

/**
 * Puts parts together; meant to be done once, when a store is made.
 * @param parts in the order in which their values will be given
 * @param answer the statement after the WITH queries
 * @returns the text; its values are those of the parts, one after the other
 */
export function composeStatement(
  parts: readonly Pick<StatementPart<never>, 'text'>[],
  answer: string,
): string {
  let offset = 0;
  const texts = parts.map(({ text }) => {
    const before = offset;
    for (const [, number] of text.matchAll(PLACEHOLDER)) offset = Math.max(offset, before + Number(number));
    return text.replace(PLACEHOLDER, (_, number: string) => `$${before + Number(number)}`);
  });
  return `WITH ${texts.join(', ')} ${answer}`;
}

// Names statements, so that each connection parses and plans a text once. The number of names is limited.

/**
 * Names by text. When the limit is reached, a new text gets no name, and is parsed each time.
 * @param limit greatest number of texts; every connection may keep as many plans
 */
export function createStatementNames({ limit }: { limit: number }) {
  const names = new Map<string, string>();
  let made = 0;
  return {
    /** The text's name, the same each time; undefined when there are too many already. */
    nameOf(text: string): string | undefined {
      const known = names.get(text);
      if (known !== undefined || names.size >= limit) return known;
      const name = `s${++made}`;
      names.set(text, name);
      return name;
    },
    /** Gives the text a new name: a migration has changed its result, and connections hold outdated plans. */
    renew(text: string): void {
      if (names.has(text)) names.set(text, `s${++made}`);
    },
  };
}

export type StatementNames = ReturnType<typeof createStatementNames>;

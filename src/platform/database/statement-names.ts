// Names statements, so that each connection parses and plans a text only once.

/** @param limit greatest number of named texts; every connection may keep as many plans. Further texts get no name */
export function createStatementNames({ limit }: { limit: number }) {
  const names = new Map<string, string>();
  let made = 0;
  return {
    /** @returns the name of the text, the same at each call; undefined beyond the limit */
    nameOf(text: string): string | undefined {
      const known = names.get(text);
      if (known !== undefined || names.size >= limit) return known;
      const name = `s${++made}`;
      names.set(text, name);
      return name;
    },
    /** Gives the text a new name, because a migration changed its result and connections have outdated plans. */
    renew(text: string): void {
      if (names.has(text)) names.set(text, `s${++made}`);
    },
  };
}

export type StatementNames = ReturnType<typeof createStatementNames>;

// The columns of a batch: many records as one parameter a column, which a statement reads by `unnest`. Pure.

type SqlType = 'uuid' | 'text' | 'int' | 'bigint' | 'float8' | 'boolean' | 'timestamptz' | 'bytea' | 'jsonb';

export type Derived<Row> = Readonly<Record<string, readonly [type: string, value: (row: Row) => unknown]>>;

/** Turns the name of a member into that of its column. */
export const inSnakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/**
 * Names the columns of a batch once, for its statement and for its values.
 * @param members the members of each SQL type that are written as they are; a column is a member's name in snake case
 * @param derived column → SQL type, and the value of a record
 */
export function columnsOf<Row>(
  members: { readonly [Type in SqlType]?: readonly (keyof Row & string)[] },
  derived: Derived<Row> = {},
) {
  const columns = [
    ...Object.entries(members).flatMap(([type, names]) =>
      names.map((member) => ({ name: inSnakeCase(member), type, value: (row: Row): unknown => row[member] })),
    ),
    ...Object.entries(derived).map(([name, [type, value]]) => ({ name, type, value })),
  ];
  return {
    /** The names, such as `id, tenant_id`. */
    names: columns.map(({ name }) => name).join(', '),
    count: columns.length,
    /**
     * Text that reads the batch, such as `unnest($3::uuid[], $4::text[]) AS row (id, name)`.
     * @param first number of the first parameter
     * @param more columns behind those of the records: name → SQL type
     */
    from: (alias: string, first = 1, more: Readonly<Record<string, string>> = {}): string => {
      const all = [...columns, ...Object.entries(more).map(([name, type]) => ({ name, type }))];
      const parameters = all.map(({ type }, index) => `$${first + index}::${type}[]`);
      return `unnest(${parameters.join(', ')}) AS ${alias} (${all.map(({ name }) => name).join(', ')})`;
    },
    /** The parameters: an array for each column. */
    of: (rows: readonly Row[]): unknown[][] => columns.map(({ value }) => rows.map(value)),
  };
}

/**
 * SQL: whether a row of one batch is among the rows of another, by a hash table. A join, or a plain IN, which becomes
 * one, compares each with each, because joins by hash are off (`PLANNER`).
 * @param columns one name, or several
 * @param from an expression, or `(SELECT …) AS name`
 * @param named the same columns of `from`
 */
export const isAmong = (columns: string, from: string, named = columns): string =>
  `((${columns}) IN (SELECT ${named} FROM ${from})) IS TRUE`;

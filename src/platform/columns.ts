// The columns of a batch: many records as one parameter a column, which a statement reads by `unnest`. Pure.

type Derived<Row> = Readonly<Record<string, readonly [type: string, value: (row: Row) => unknown]>>;

const inSnakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/**
 * Names the columns of a batch once, for its statement and for its values.
 * @param members the SQL type of each member that is written as it is; its column is the member's name in snake case
 * @param derived column → SQL type, and the value of a record
 */
export function columnsOf<Row>(
  members: { readonly [Name in keyof Row & string]?: string },
  derived: Derived<Row> = {},
) {
  const columns = [
    ...Object.entries(members as Record<string, string>).map(([member, type]) => ({
      name: inSnakeCase(member),
      type,
      value: (row: Row): unknown => row[member as keyof Row],
    })),
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

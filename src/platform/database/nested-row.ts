// Builds nested objects from flat rows: the column "key.id" becomes the member `id` of the member `key`.

type Paths<Row, Groups extends string, Before extends string = ''> = {
  [Name in keyof Row & string]: `${Before}${Name}` extends Groups
    ? Paths<Row[Name], Groups, `${Before}${Name}.`>
    : `${Before}${Name}`;
}[keyof Row & string];

type At<Row, Path extends string> = Path extends `${infer Group}.${infer Rest}`
  ? At<Row[Group & keyof Row], Rest>
  : Row[Path & keyof Row];

/**
 * The row of a statement that `nestRow` turns into a `Row`.
 * @template Groups the members whose own members are columns, such as `use` and `use.successor`
 */
export type Flat<Row, Groups extends string> = {
  readonly [Path in Paths<Row, Groups>]: At<Row, Path>;
};

/** @param row a row whose column names may contain dots */
export function nestRow<Row extends object>(row: object): Row {
  const nested: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(row)) {
    const path = name.split('.');
    const last = path.pop() ?? name;
    let target = nested;
    for (const member of path) {
      target[member] ??= {};
      target = target[member] as Record<string, unknown>;
    }
    target[last] = value;
  }
  return nested as Row;
}

// The names of fields: snake_case in requests and answers, camelCase in code.

/** `agentId` for `agent_id`. */
export type CamelCase<Name> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;

type CamelCased<Fields> = { [Name in keyof Fields as CamelCase<Name>]: Exclude<Fields[Name], undefined> };

/** `agentId` for `agent_id`. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, first: string) => first.toUpperCase());
}

/** Renames the fields of a request to their names in code, only at the top level. Absent fields stay absent. */
export function readFields<Fields extends object>(fields: Fields): CamelCased<Fields> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) =>
      value === undefined ? [] : [[camelCase(name), value]],
    ),
  ) as CamelCased<Fields>;
}

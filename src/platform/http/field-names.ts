// The names of fields: snake_case in requests and answers, camelCase in code.

/** `agentId` for `agent_id`. */
export type CamelCase<Name> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;

/** The fields of a request under their names in code. */
type CamelCased<Fields> = { [Name in keyof Fields as CamelCase<Name>]: Exclude<Fields[Name], undefined> };

/** @param name of a field in a request or an answer @returns its name in code */
export function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, first: string) => first.toUpperCase());
}

/** The fields that a request has, by their names in code. Only the names change, and only at the top. */
export function readFields<Fields extends object>(fields: Fields): CamelCased<Fields> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) =>
      value === undefined ? [] : [[camelCase(name), value]],
    ),
  ) as CamelCased<Fields>;
}

// Builds nested objects from flat rows: the column "key.id" becomes the member `id` of the member `key`.

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

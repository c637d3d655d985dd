// Nests columns by their names: the column "key.id" becomes the member `id` of the member `key`.

/**
 * Moves each column into the object that its name gives. @param row a row whose columns may have dots in their names
 */
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

// Finds the fields that a change really changes, and describes them for an audit entry.

type Values = Readonly<Record<string, unknown>>;

type Changed<Change> = { [Name in keyof Change]?: Exclude<Change[Name], undefined> };

/** The fields of a change that are present and differ from the stored ones. */
export function findChanges<Change extends object>(before: object, change: Change): Changed<Change> {
  const stored = before as Values;
  return Object.fromEntries(
    Object.entries(change).filter(([name, value]) => value !== undefined && !isSame(stored[name], value)),
  ) as Changed<Change>;
}

/**
 * Describes a change for an audit entry: the names of all its fields, spelled as in the API, and for the fields in
 * `told` both values.
 * @param changes the result of `findChanges`
 */
export function describeChanges(
  before: object,
  changes: object,
  told: readonly string[],
): { fields: string[]; changes: Record<string, { from: unknown; to: unknown }> } {
  const stored = before as Values;
  const entries = Object.entries(changes);
  return {
    fields: entries.map(([name]) => toSnakeCase(name)),
    changes: Object.fromEntries(
      entries
        .filter(([name]) => told.includes(name))
        .map(([name, to]) => [toSnakeCase(name), { from: stored[name], to }]),
    ),
  };
}

/** Whether two JSON values are equal; the order of members does not count. */
function isSame(left: unknown, right: unknown): boolean {
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null)
    return left === right;
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  const [one, other] = [left as Values, right as Values];
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isSame(one[name], other[name]))
  );
}

function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

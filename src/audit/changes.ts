// Finds the fields that a change really changes, and describes them for an audit entry.

type Values = Readonly<Record<string, unknown>>;

type Changed<Change> = { [Name in keyof Change]?: Exclude<Change[Name], undefined> };

/** Returns the fields of `change` that are present and differ from the stored values. */
export function findChanges<Change extends object>(before: object, change: Change): Changed<Change> {
  const stored = before as Values;
  return Object.fromEntries(
    Object.entries(change).filter(([name, value]) => value !== undefined && !isSame(stored[name], value)),
  ) as Changed<Change>;
}

/**
 * Describes a change for an audit entry: the API names of all changed fields. For the fields in `told` it adds the old
 * and the new value.
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

/** Compares two JSON values. The order of object members is ignored. */
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

// What a change really changes, and how the audit log describes it. Values are shown only of the fields in `told`.

type Values = Readonly<Record<string, unknown>>;

type Changed<Change> = { [Name in keyof Change]?: Exclude<Change[Name], undefined> };

/** The fields of a change that are there and differ from what is stored. */
export function findChanges<Change extends object>(before: object, change: Change): Changed<Change> {
  const stored = before as Values;
  return Object.fromEntries(
    Object.entries(change).filter(([name, value]) => value !== undefined && !isSame(stored[name], value)),
  ) as Changed<Change>;
}

/**
 * A change as an audit entry describes it: the names of its fields as the interface spells them, and both values of the fields in `told`.
 * @param changes what `findChanges` gave
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

/** Whether two JSON values are the same; the order of members does not count. */
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

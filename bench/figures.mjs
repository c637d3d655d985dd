// Figures of several runs: numbers by name, those of nested objects with a dot.

/** @returns the numbers of a run by name */
export function flatten(object, prefix = '') {
  return Object.fromEntries(
    Object.entries(object).flatMap(([name, value]) => {
      if (typeof value === 'object' && value !== null)
        return Object.entries(flatten(value, `${prefix}${name}.`));
      return Number.isFinite(value) ? [[`${prefix}${name}`, value]] : [];
    }),
  );
}

/** @returns for each figure that all runs have: values in the order of the runs, median, least and most */
export function spread(runs) {
  const rows = runs.map((run) => flatten(run));
  const names = Object.keys(rows[0] ?? {}).filter((name) => rows.every((row) => name in row));
  return Object.fromEntries(
    names.map((name) => {
      const values = rows.map((row) => row[name]);
      return [
        name,
        { values, median: median(values), least: Math.min(...values), most: Math.max(...values) },
      ];
    }),
  );
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

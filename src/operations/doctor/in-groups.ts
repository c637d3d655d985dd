// Processes items in groups, concurrently within a group. Pure.

/** @param size items of a group */
export async function inGroups<Item>(
  items: readonly Item[],
  size: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  for (let start = 0; start < items.length; start += size)
    await Promise.all(items.slice(start, start + size).map(work));
}

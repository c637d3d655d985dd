// Spreads the beginnings of requests over the rounds of the event loop. Node.js reads all connections that have sent
// something before it does anything else: many requests of one owner would run before the first one of another.

/**
 * @returns a function that is called with the owner of a request before the work of it: of one owner, one request
 *   begins in each round, in the order of arrival. Undefined: it begins now
 */
export function createRoundStarts(): (owner: string) => Promise<void> | undefined {
  const queues = new Map<string, Set<() => void>>();
  /** The owners of which a request has begun since the last round. */
  const begun = new Set<string>();

  function goRound(): void {
    begun.clear();
    for (const [owner, queue] of queues) {
      const [begin] = queue;
      if (begin === undefined) continue;
      begun.add(owner);
      queue.delete(begin);
      if (queue.size === 0) queues.delete(owner);
      begin();
    }
    if (begun.size > 0) setImmediate(goRound);
  }

  return (owner) => {
    if (!begun.has(owner)) {
      if (begun.size === 0) setImmediate(goRound);
      begun.add(owner);
      return undefined;
    }
    const queue = queues.get(owner) ?? new Set();
    queues.set(owner, queue);
    return new Promise((resolve) => queue.add(resolve));
  };
}

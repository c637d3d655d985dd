// Limits concurrent workflow starts, so that each start finds a free slot of this worker and is eager. Pure.

/** @returns `acquire`, which resolves in order with a function that returns the permit; a second call has no effect */
export function createStartWindow(size: number) {
  let free = size;
  const queue: (() => void)[] = [];

  const release = () => {
    const next = queue.shift();
    if (next === undefined) free += 1;
    else next();
  };

  return {
    acquire: async (): Promise<() => void> => {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => queue.push(resolve));
      let isHeld = true;
      return () => {
        if (isHeld) release();
        isHeld = false;
      };
    },
  };
}

// Limits concurrent workflow starts. Pure.

/**
 * Makes a window: `enter` resolves in order, and each call is followed by one of `leave`.
 * @param size the most starts under way
 */
export function createStartWindow(size: number) {
  let free = size;
  const queue: (() => void)[] = [];
  return {
    enter: (): Promise<void> =>
      new Promise((resolve) => {
        if (free === 0) queue.push(resolve);
        else {
          free -= 1;
          resolve();
        }
      }),
    leave: (): void => {
      const next = queue.shift();
      if (next === undefined) free += 1;
      else next();
    },
  };
}

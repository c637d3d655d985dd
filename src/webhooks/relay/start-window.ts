// Limits concurrent workflow starts. Pure.

/**
 * Makes a window: `acquire` resolves in order with a function that leaves it; a second call has no effect.
 * @param size the most starts under way
 */
export function createStartWindow(size: number) {
  let held = 0;
  const queue: (() => void)[] = [];

  const admit = (): void => {
    while (queue.length > 0 && held < size) {
      held += 1;
      queue.shift()?.();
    }
  };

  return {
    acquire: async (): Promise<() => void> => {
      await new Promise<void>((resolve) => {
        queue.push(resolve);
        admit();
      });
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        held -= 1;
        admit();
      };
    },
  };
}

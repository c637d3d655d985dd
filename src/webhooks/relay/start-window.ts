// Limits concurrent workflow starts, so that each start finds a free slot of this worker and is eager. Pure.

/** Starts that a window always lets through, however often Temporal was late. */
const LEAST = 2;

/**
 * Makes a window: `acquire` resolves in order with a function that returns the permit; a second call has no effect.
 * `narrow` halves the window after a start that Temporal did not answer in time; each `widen` after an answered one
 * lets it grow again, by one permit in as many starts as it is wide.
 * @param size the most permits
 */
export function createStartWindow(size: number) {
  let width = size;
  let held = 0;
  const queue: (() => void)[] = [];

  const admit = (): void => {
    while (queue.length > 0 && held < Math.floor(width)) {
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

    narrow: (): void => {
      width = Math.max(Math.min(LEAST, size), width / 2);
    },

    widen: (): void => {
      width = Math.min(size, width + 1 / width);
      admit();
    },
  };
}

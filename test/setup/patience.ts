// How long a test waits for what has to come: longer than a busy machine needs, shorter than a case may take.
// `expect.poll` and `eventually` have the same by themselves.
export const PATIENCE = { timeout: 180_000, interval: 20 } as const;

/** Milliseconds after which a program that a test runs hangs. A case hangs after twice as long (vitest.config.ts). */
export const HANG = 300_000;

/** Waits until what is written next has a later time than what was written before. */
export async function letClockMove(): Promise<void> {
  for (const at = Date.now(); Date.now() <= at + 2; ) await new Promise((resolve) => setTimeout(resolve, 1));
}

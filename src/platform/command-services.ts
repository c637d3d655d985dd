// What a command of the command line is given: its services for as long as it runs, and where its lines go.

/**
 * @param open opens the services that `work` needs
 * @returns what `work` returns, when they are closed again; they close also after an error
 */
export async function useServices<Services extends { close: () => Promise<void> }, Result>(
  open: () => Promise<Services>,
  work: (services: Services) => Promise<Result>,
): Promise<Result> {
  const services = await open();
  try {
    return await work(services);
  } finally {
    await services.close();
  }
}

/**
 * `open` opens the services of the command. `print` writes one line to stdout, `tell` one line of progress to stderr.
 * `fail` sets the exit code.
 */
export type CommandOutput<Open> = {
  readonly open: Open;
  readonly print: (line: string) => void;
  readonly tell: (line: string) => void;
  readonly fail: (code: number) => void;
};

/** Milliseconds between two lines of progress. */
const INTERVAL = 5_000;

/**
 * @param tell writes one line to stderr
 * @returns a function that tells its line when five seconds have passed since the one before
 */
export function createProgress(tell: (line: string) => void): (line: () => string) => void {
  let told = performance.now();
  return (line) => {
    const now = performance.now();
    if (now - told < INTERVAL) return;
    told = now;
    tell(line());
  };
}

// Keeps one part running: restarts it when it dies, with pauses that grow while it dies again and again.
import type { PartExit } from './foreign-part.ts';

/** A process that runs; `exited` never rejects. */
export type RunningPart = {
  readonly pid: number;
  readonly exited: Promise<PartExit>;
  readonly stop: () => Promise<void>;
};

/**
 * Milliseconds: the first and the longest pause before a restart, and the run time after which a part counts as
 * healthy.
 */
export type Backoff = { readonly first: number; readonly most: number; readonly healthy: number };

const BACKOFF: Backoff = { first: 100, most: 10_000, healthy: 20_000 };

/**
 * @param options.start resolves when the part is up, rejects when it could not start; gives up when the signal aborts
 * @param options.onChange receives the process id when the part is up, null when it is down
 * @param options.say receives one line for each death, one for each new reason of failed starts, and one when a part
 *   whose start failed is up again
 * @returns `begin` starts the part (and rejects when that fails), `stop` ends it for good
 */
export function createKeptPart(options: {
  name: string;
  start: (signal: AbortSignal) => Promise<RunningPart>;
  onChange: (pid: number | null) => void;
  say: (line: string) => void;
  backoff?: Backoff | undefined;
}) {
  const { name, start, onChange, say, backoff = BACKOFF } = options;
  let running: RunningPart | null = null;
  let starting: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let failures = 0;
  /** The reason of the last failed start; null after a successful start. */
  let refused: string | null = null;
  const stopping = new AbortController();

  async function begin(): Promise<void> {
    const part = await start(stopping.signal);
    running = part;
    onChange(part.pid);
    if (refused !== null) say(`${name} is up again (process ${part.pid}).`);
    refused = null;
    const since = Date.now();
    void part.exited.then((exit) => {
      running = null;
      onChange(null);
      if (stopping.signal.aborted) return;
      if (Date.now() - since >= backoff.healthy) failures = 0;
      again(exit.reason?.message ?? `${name} (process ${part.pid}) ended unexpectedly: ${exit.description}`);
    });
  }

  function again(why: string, isNew = true): void {
    const wait = Math.min(backoff.most, backoff.first * 2 ** failures);
    failures += 1;
    const when = wait >= 1_000 ? ` in ${Math.round(wait / 1_000)} s` : '';
    if (isNew) say(`${why.replace(/\.$/, '')}. Starting ${name} again${when}.`);
    timer = setTimeout(() => {
      starting = begin().catch((error: unknown) => {
        if (stopping.signal.aborted) return;
        const reason = error instanceof Error ? error.message : String(error);
        again(reason, reason !== refused);
        refused = reason;
      });
    }, wait);
  }

  return {
    begin(): Promise<void> {
      const first = begin();
      starting = first.catch(() => undefined);
      return first;
    },
    /** Waits until the part has ended, even when its start is not complete yet. */
    async stop(): Promise<void> {
      stopping.abort(new Error(`${name} is being stopped`));
      clearTimeout(timer);
      await starting;
      await running?.stop();
    },
  };
}

export type KeptPart = ReturnType<typeof createKeptPart>;

// When a local stack has to end: a signal, or the end of whoever started it. A second signal means "at once".
import { watchParents } from './parent-watch.ts';

/** npm hands on the SIGINT that the terminal sent to us as well; that echo is not a second wish. */
const ECHO = 300;

/**
 * Listens from now on.
 * @param options.say told once, in one line
 * @param options.force called at a second signal; must not return
 * @returns `signal` aborts at the first; `close` stops listening
 */
export function listenForEnd({ say, force }: { say: (line: string) => void; force: () => void }) {
  const controller = new AbortController();
  let since = 0;
  const end = (why: string) => {
    if (controller.signal.aborted) {
      if (why !== 'SIGHUP' && Date.now() - since > ECHO) force();
      return;
    }
    since = Date.now();
    say(`Stopping (${why}); once more forces it.`);
    controller.abort(new Error(why));
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const handlers = signals.map((name) => [name, () => end(name)] as const);
  for (const [name, handler] of handlers) process.on(name, handler);
  // The terminal may be gone before we are.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const unwatch = watchParents(() => {
    if (!controller.signal.aborted) end('the process that started it is gone');
  });
  return {
    signal: controller.signal,
    close(): void {
      unwatch();
      for (const [name, handler] of handlers) process.off(name, handler);
    },
  };
}

// Detects that a local stack has to end, by a signal or by the end of its parent. A second signal kills the stack.
import { watchParents } from './parent-watch.ts';

/**
 * Milliseconds in which a second SIGINT is ignored: the terminal sends SIGINT to npm and to this process, and npm
 * forwards its copy.
 */
const ECHO = 300;

/**
 * Starts to listen.
 * @param options.say receives one line, once
 * @param options.force called at a second signal; must not return
 * @returns `signal` aborts at the first signal; `close` stops listening
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
  // The terminal may be closed before this process ends; a failed write is then ignored.
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

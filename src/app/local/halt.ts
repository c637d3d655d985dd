// Detects that a local stack has to end: by a signal, by the end of a part or by the end of its parent. A second signal
// kills the stack.
import { isAlive, lookUp } from './processes.ts';

/**
 * Milliseconds in which a second SIGINT is ignored: the terminal sends SIGINT to npm and to this process, and npm
 * forwards its copy.
 */
const ECHO = 300;

/**
 * Starts to listen.
 * @param options.say receives one line, once
 * @param options.force called at a second signal; must not return
 * @returns `signal` aborts when the stack has to end; `end` is called when a part has ended, with its reason; `close`
 *   stops listening
 */
export function listenForEnd({ say, force }: { say: (line: string) => void; force: () => void }) {
  const controller = new AbortController();
  let since = 0;
  const begin = (reason: Error, line: string) => {
    if (controller.signal.aborted) return;
    since = Date.now();
    say(line);
    controller.abort(reason);
  };
  const stop = (why: string) => begin(new Error(why), `Stopping (${why}); once more forces it.`);
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const onSignal = (name: NodeJS.Signals) => {
    if (!controller.signal.aborted) stop(name);
    else if (name !== 'SIGHUP' && Date.now() - since > ECHO) force();
  };
  for (const name of signals) process.on(name, onSignal);
  // The terminal may be closed before this process ends; a failed write is then ignored.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const unwatch = watchParents(() => stop('the process that started it is gone'));
  return {
    signal: controller.signal,
    end: (reason: Error) =>
      begin(reason, `${reason.message} Everything is being stopped; the next start carries on.`),
    close(): void {
      unwatch();
      for (const name of signals) process.off(name, onSignal);
    },
  };
}

/**
 * Watches the parent process, because npm may be killed without a signal to its script. If the parent is the shell in
 * which npm runs a script, its parent is watched as well.
 * @param onVanished called once, when one of them has ended
 * @returns ends the watch
 */
function watchParents(onVanished: () => void): () => void {
  const parent = process.ppid;
  if (parent <= 1) return () => undefined;
  const seen = lookUp(parent);
  const npm = seen !== null && /(^|\/)(ba|da|z|k)?sh -c /.test(seen.command) ? seen.parent : 0;
  const timer = setInterval(() => {
    if (process.ppid === parent && (npm <= 1 || isAlive(npm))) return;
    clearInterval(timer);
    onVanished();
  }, 500).unref();
  return () => clearInterval(timer);
}

// Detects that the parent process has ended, because npm may be killed without a signal to its script.
import { commandOf, isAlive, parentOf } from './processes.ts';

/**
 * Watches the parent process. If the parent is the shell in which npm runs a script, its parent is watched as well.
 * @param onVanished called once, when one of them has ended
 * @param interval milliseconds between two checks
 * @returns ends the watch
 */
export function watchParents(onVanished: () => void, interval = 500): () => void {
  const parent = process.ppid;
  if (parent <= 1) return () => undefined;
  const grandparent = /(^|\/)(ba|da|z|k)?sh -c /.test(commandOf(parent)) ? parentOf(parent) : null;
  const timer = setInterval(() => {
    const orphaned =
      process.ppid !== parent || (grandparent !== null && grandparent > 1 && !isAlive(grandparent));
    if (!orphaned) return;
    clearInterval(timer);
    onVanished();
  }, interval);
  timer.unref();
  return () => clearInterval(timer);
}

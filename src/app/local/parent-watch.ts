// Notices that whoever started this process is gone: npm may be killed without telling its script.
import { commandOf, isAlive, parentOf } from './processes.ts';

/**
 * Watches the parent, and through a shell that npm put between, its parent too.
 * @param onVanished called once
 * @param interval milliseconds between two looks
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

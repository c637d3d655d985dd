// What a gate costs: the processor time of its process and of all that it has started and that have ended.
import { cpuSecondsOfTree } from '../bench/processes.mjs';

/**
 * Seconds of processor time, beyond which a gate is red: a third more than the dearest of those that were measured, on
 * two cores with other work beside them. Unlike the time that passes, it hardly depends on how busy the machine is.
 */
export const MOST_SECONDS = 2_000;

/** @returns `line` for the log, and `failed`: a case, when it was too much; undefined where the system does not say */
export function readCost(
  cpu = process.platform === 'linux' ? cpuSecondsOfTree(process.pid) : undefined,
  passed = performance.now() / 1_000,
) {
  if (cpu === undefined) return undefined;
  const line = `It took ${passed.toFixed(0)} s and ${cpu.toFixed(0)} s of processor time.`;
  const errors = [`${line} At most ${MOST_SECONDS} s of processor time are right (scripts/cost.mjs).`];
  return { line, failed: cpu > MOST_SECONDS ? [{ name: 'the cost of the gate', errors }] : [] };
}

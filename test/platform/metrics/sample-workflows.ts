// Workflows that end in every way there is.
import { ApplicationFailure, CancelledFailure, condition, continueAsNew, sleep } from '@temporalio/workflow';

export async function says(status: string): Promise<{ status: string }> {
  return { status };
}

export async function saysNothing(): Promise<void> {}

export async function fails(): Promise<void> {
  throw ApplicationFailure.nonRetryable('on purpose');
}

export async function waits(): Promise<void> {
  await condition(() => false);
  throw new CancelledFailure('never comes here');
}

export async function goesOn(runs: number): Promise<string> {
  if (runs > 0) return continueAsNew<typeof goesOn>(runs - 1);
  return 'done';
}

export async function sleeps(): Promise<{ state: string }> {
  await sleep(50);
  await condition(() => false, 50);
  return { state: 'rested' };
}

let broken = true;

/** Its first task throws, and the next one does not. */
export async function stumbles(): Promise<{ key: string }> {
  if (broken) {
    broken = false;
    throw new Error('not one of Temporal’s');
  }
  return { key: 'mended' };
}

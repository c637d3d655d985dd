// Disturbs the departure of keys at every step that a worker takes for one. Departures that nobody disturbs say which
// steps there are; as many departures as steps run side by side, each stops at its own, and one kill meets them all.
import { setTimeout as sleep } from 'node:timers/promises';
import type { KillableStack, KillableWorker } from './killable-stack.ts';
import { createCase, type DepartingCase, WAYS, type Way } from './killed-rotations.ts';

type End = Awaited<ReturnType<Awaited<ReturnType<DepartingCase['begin']>>>>;

/** How a departure goes when nobody disturbs it. */
export type Undisturbed = { readonly way: Way; readonly steps: readonly string[]; readonly end: End };

/** Milliseconds without any news after which what has not stopped yet is left for the next kill. */
const QUIET = 8_000;
/** Kills in a row that meet none: one of them can fall into a stop of a loaded machine. */
const MOST_IDLE = 2;
/** Departures of each way that nobody disturbs: what not all of them take comes by chance. */
const OBSERVED = 4;

/** The part of all steps that may be met by no kill: a timer and a signal that come together are one step. */
const MOST_UNMET = 0.2;

/** Lets keys go in each way, and notes the steps that all of one way take: a loaded machine adds some by chance. */
export async function observe(stack: KillableStack): Promise<Undisturbed[]> {
  const worker = await stack.startWorker();
  const ways = Array.from({ length: OBSERVED }, () => WAYS).flat();
  const cases = await Promise.all(ways.map((way) => createCase(stack, way)));
  const ends = await Promise.all(cases.map(async (one) => (await one.begin())()));
  await worker.stop();
  const stepsOf = ({ workflowId: id }: DepartingCase) =>
    worker.steps.filter(({ workflowId }) => workflowId === id).map(({ step }) => step);
  return WAYS.map((way, n) => {
    const [first = [], ...others] = cases.filter((one) => one.way === way).map(stepsOf);
    const steps = first.filter((step) => others.every((taken) => taken.includes(step)));
    return { way, steps, end: ends[n] as End };
  });
}

/** @returns the steps of each way from where it leaves the ways before it: the same in any order are disturbed once */
export function listSteps(undisturbed: readonly Undisturbed[]): { way: Way; step: string }[] {
  return undisturbed.flatMap(({ way, steps }, index) => {
    const before = undisturbed.slice(0, index);
    const isNew = (at: number) =>
      before.every((other) => {
        const taken = new Set(other.steps.slice(0, at + 1));
        return steps.slice(0, at + 1).some((step) => !taken.has(step));
      });
    return steps.filter((_, at) => isNew(at)).map((step) => ({ way, step }));
  });
}

type Target = { readonly way: Way; readonly step: string; one: DepartingCase; end?: End };

/**
 * @param crash kills what is to be killed and brings it back. @returns the worker that runs then; `left` is where that
 *   is to stop
 * @returns how the departure that was met at each step has ended
 */
export async function crashAtEverySteps(
  stack: KillableStack,
  undisturbed: readonly Undisturbed[],
  crash: (worker: KillableWorker, left: Plan) => Promise<KillableWorker>,
): Promise<{ way: Way; step: string; end: End | undefined }[]> {
  const targets: Target[] = [];
  for (const { way, step } of listSteps(undisturbed))
    targets.push({ way, step, one: await createCase(stack, way) });
  // Commands are handed over one batch at a time: one that stops there keeps the others waiting, so they come last.
  const groups = new Map<string, Target[]>([['', []]]);
  for (const target of targets) {
    const { step } = target;
    const name = isCommand(step) ? step.slice(-3) : '';
    groups.set(name, [...(groups.get(name) ?? []), target]);
  }
  const runs: Promise<void>[] = [];
  const begin = async (target: Target) => {
    const { one } = target;
    const ended = await one.begin();
    runs.push(
      ended().then((end) => {
        if (target.one === one) target.end = end;
      }),
    );
  };
  let worker = await stack.startWorker();
  for (const group of groups.values()) {
    worker.plan(planOf(group));
    await sleep(100);
    for (const target of group) await begin(target);
    let left = group;
    for (let idle = 0; left.length > 0; ) {
      if (idle === MOST_IDLE) {
        const unmet = left.map(({ step }) => step).join('; ');
        if (left.length > targets.length * MOST_UNMET) throw new Error(`never stopped at: ${unmet}`);
        // These steps come by chance only, and the departure ended without them each time.
        await worker.kill();
        await stack.endLeases();
        worker = await stack.startWorker();
        break;
      }
      await settle(worker, left);
      const { steps } = worker;
      const before = left.length;
      left = left.filter(({ one, step }) => !hasStopped(steps, one, step));
      idle = left.length === before ? idle + 1 : 0;
      // On a loaded machine one can take other steps, and end without this one.
      const missed = left.filter(({ end }) => end !== undefined);
      for (const target of missed) {
        delete target.end;
        target.one = await createCase(stack, target.way);
      }
      worker = await crash(worker, planOf(left));
      for (const target of missed) await begin(target);
    }
  }
  await Promise.all(runs);
  await worker.stop();
  return targets.map(({ way, step, end }) => ({ way, step, end }));
}

export type Plan = readonly (readonly [workflowId: string, step: string])[];

function planOf(targets: readonly Target[]): Plan {
  return targets.map(({ one, step }) => [one.workflowId, step]);
}

function hasStopped(steps: KillableWorker['steps'], { workflowId }: DepartingCase, step: string): boolean {
  return steps.some((taken) => taken.stopped && taken.workflowId === workflowId && taken.step === step);
}

function isCommand(step: string): boolean {
  return step.startsWith('command');
}

/** Waits until each (of commands one) has stopped or ended, or no step of any of them is taken any more. */
async function settle(worker: KillableWorker, targets: readonly Target[]): Promise<void> {
  const ids = new Set(targets.map(({ one }) => one.workflowId));
  let news = -1;
  for (let since = Date.now(); Date.now() - since < QUIET; await sleep(50)) {
    const isThere = ({ one, step, end }: Target) => end || hasStopped(worker.steps, one, step);
    if (targets.every(isThere) || targets.some((one) => isCommand(one.step) && isThere(one))) return;
    const taken = worker.steps.filter(({ workflowId }) => ids.has(workflowId)).length;
    if (taken > news) since = Date.now();
    news = taken;
  }
}

// The loop of all entity workflows: read the entity's state, do the due step, wait, read again. Each activity is one
// use case, and Postgres decides whether it is due, so a repeated or late signal changes nothing.
// docs/decisions/0011-entity-workflows.md
import type { UpdateDefinition } from '@temporalio/common';
import {
  type ActivityFunctionWithOptions,
  allHandlersFinished,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { ENTITY_CHANGED, type EntityInput, SEARCH_ATTRIBUTES } from '../src/platform/temporal/names.ts';
import { checkReason, showDetails } from './operator.ts';

/** The entity has changed, so the workflow reads it again. */
const changed = defineSignal(ENTITY_CHANGED);
const state = defineQuery<unknown>('state');

/** Each activity is one use case in Postgres, and is retried until it succeeds. */
export const ENTITY_ACTIVITIES = {
  startToCloseTimeout: '20s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '30s' },
} as const;

/** In events. A longer history continues as new. It stays below 1,000, because events under way are still added. */
const LONGEST_HISTORY = 900;

/** The next step: `end`, a wait (`wait` or another plain word), or the kind of a due step. */
type Step = string | { readonly kind: string };
type WaitOf<S> = Extract<S, { readonly kind: 'wait' }> | Exclude<Extract<S, string>, 'end'>;
type DueOf<S> = S extends { readonly kind: infer Kind extends string }
  ? Exclude<Kind, 'wait' | 'end'>
  : never;
type DoingOf<State> = NonNullable<State> extends { readonly doing: infer Doing } ? Doing : never;

/** Search attributes. A null leaves the attribute unchanged. */
type Attributes = { readonly entityState: string } & Readonly<
  Partial<Record<'subscriptionId' | 'endpointHost' | 'lastOutcome', string | null>>
>;

/** A due step. `summary` is for operators. `once`: the entity is read again before the same step is repeated. */
type Work<Name, Standing, Doing> = {
  readonly doing: Doing;
  readonly summary: string;
  readonly activity: ActivityFunctionWithOptions<(name: Name) => Promise<Standing>>;
  readonly once?: boolean;
};

/** How the entity is read. `summary` is for operators. */
type Reading<Name, Standing> = {
  readonly summary: string | ((standing: Standing | undefined) => string);
  readonly activity: ActivityFunctionWithOptions<(name: Name) => Promise<Standing>>;
};

/** The loop's part of a state. `until` is when the workflow next reads the entity without a signal. */
type Progress<State> = {
  readonly doing: DoingOf<State> | 'reading' | 'ended';
  readonly until: string | null;
};

/**
 * Registers an operator's update. Its answer is the state afterwards; undefined when `perform` returns undefined.
 * `refuse` may throw an Error, which keeps the update out of the history.
 */
type OnUpdate<Standing, State> = <Args extends unknown[]>(
  update: UpdateDefinition<State | undefined, Args>,
  handler: {
    readonly perform: (...args: Args) => Promise<Standing | undefined>;
    readonly refuse: (standing: Standing | undefined, ...args: Args) => void;
  },
) => void;

/**
 * The parts of an entity workflow: its activities, and the state and updates for operators. `standing` is the last read
 * state of the entity; undefined until the first reading has ended.
 */
type EntityLife<Name, Standing extends { readonly step: Step }, State, Result> = {
  readonly name: Name;
  readonly read: Reading<Name, Standing>;
  readonly steps: Readonly<Record<DueOf<Standing['step']>, Work<Name, Standing, DoingOf<State>>>>;
  readonly wait: (
    step: WaitOf<Standing['step']>,
    now: Standing,
  ) => { readonly doing: DoingOf<State>; readonly delayMs: number; readonly summary: string };
  /** Replaces `read` after a wait, unless it returns undefined. */
  readonly readAfterWait?: (now: Standing, signaled: boolean) => Promise<Awaited<Standing>> | undefined;
  /** The members of `standing` that operators see, as they are until the first reading; or what makes the state. */
  readonly state:
    | Omit<NonNullable<State>, keyof Progress<State>>
    | ((standing: Standing | undefined, progress: Progress<State>) => State);
  readonly details: (now: Standing) => string;
  /** What an operator can do, as the last line of the details; not shown after the end. */
  readonly help: string;
  readonly attributes: (now: Standing) => Attributes;
  readonly updates?: (on: OnUpdate<Standing, State>) => void;
  readonly result: (now: Standing) => Result;
};

type Run<Standing, State> = { standing: Standing | undefined; signaled: boolean } & {
  -readonly [Member in keyof Progress<State>]: Progress<State>[Member];
};

/** Runs the workflow of one entity until its end. Tests in test/replay check the order of its commands. */
export async function entityWorkflow<Name, Standing extends { readonly step: Step }, State, Result>(
  input: EntityInput,
  life: EntityLife<Name, Standing, State, Result>,
): Promise<Result> {
  const run: Run<Standing, State> = { standing: undefined, signaled: false, doing: 'reading', until: null };
  const steps: Readonly<Record<string, Work<Name, Standing, DoingOf<State>>>> = life.steps;
  const workOf = (now: Standing) => steps[kindOf(now)];
  const index = createIndex(input);
  answerMessages(life, run);

  const readNow = () => {
    const { activity, summary } = life.read;
    const text = typeof summary === 'string' ? summary : summary(run.standing);
    return activity.executeWithOptions({ summary: text }, [life.name]);
  };
  let read = readNow;
  for (;;) {
    run.doing = 'reading';
    // Signals before this point are dropped, because the reading sees their changes.
    run.signaled = false;
    let now = await read();
    run.standing = now;
    read = readNow;
    for (let work = workOf(now); work !== undefined; ) {
      run.doing = work.doing;
      showDetails(input, `**Under way**: ${work.summary}.`);
      now = await work.activity.executeWithOptions({ summary: work.summary }, [life.name]);
      run.standing = now;
      work = work.once && workOf(now) === work ? undefined : workOf(now);
    }
    const details = life.details(now);
    const isOver = kindOf(now) === 'end';
    showDetails(input, isOver ? details : `${details}\n\n${life.help}`);
    // The result says how it has ended: in its last task a change of the list would cost as much as the end itself.
    const isQuiet = isOver && allHandlersFinished() && !run.signaled;
    if (!isQuiet) index(life.attributes(now));
    if (isOver) {
      run.doing = 'ended';
      if (!allHandlersFinished()) await condition(allHandlersFinished);
      // A signal during the last reading: the entity is read again.
      if (!run.signaled) return life.result(now);
    } else if (workOf(now) === undefined) {
      const { doing, delayMs, summary } = life.wait(now.step as WaitOf<Standing['step']>, now);
      run.doing = doing;
      run.until = new Date(Date.now() + delayMs).toISOString();
      // The SDK ignores a timer of length 0 and records that in the history.
      const signaled = await condition(() => run.signaled, Math.max(1, delayMs), { summary });
      run.until = null;
      const { readAfterWait } = life;
      if (readAfterWait !== undefined) read = () => readAfterWait(now, signaled) ?? readNow();
    }
    if (isHistoryLong()) return beginAnew(input);
  }
}

function answerMessages<Name, Standing extends { readonly step: Step }, State, Result>(
  life: EntityLife<Name, Standing, State, Result>,
  run: Run<Standing, State>,
): void {
  const present = (): State => {
    const progress = { doing: run.doing, until: run.until };
    if (typeof life.state === 'function') return life.state(run.standing, progress);
    const standing: Readonly<Record<string, unknown>> = { ...run.standing };
    const facts = Object.entries(life.state).map(([name, unread]) => [name, standing[name] ?? unread]);
    return { ...Object.fromEntries(facts), ...progress };
  };
  setHandler(changed, () => {
    run.signaled = true;
  });
  setHandler(state, present);
  life.updates?.((update, { perform, refuse }) =>
    setHandler(
      update,
      async (...args) => {
        const now = await perform(...args);
        run.standing = now ?? run.standing;
        run.signaled = true;
        return now && present();
      },
      { validator: (...args: Parameters<typeof perform>) => refuse(run.standing, ...args) },
    ),
  );
}

/**
 * Makes the handler of an update by which an operator does something for a reason, which the audit log keeps.
 * @param refuse as `OnUpdate`
 */
export function forReason<Name, Standing, Answer>(
  name: Name,
  activity: ActivityFunctionWithOptions<(name: Name, reason: string | null) => Promise<Answer>>,
  refuse: (standing: Standing | undefined) => void = () => undefined,
) {
  return {
    perform: (reason?: string): Promise<Answer> =>
      activity.executeWithOptions({ summary: 'by an operator' }, [name, reason ?? null]),
    refuse: (standing: Standing | undefined, reason?: string): void => {
      checkReason(reason);
      refuse(standing);
    },
  };
}

/** @returns a function that writes the search attributes when they have changed */
function createIndex({ indexed }: EntityInput): (values: Attributes) => void {
  const { entityState, subscriptionId, endpointHost, lastOutcome } = SEARCH_ATTRIBUTES;
  const keys = { entityState, subscriptionId, endpointHost, lastOutcome };
  let latest = '';
  return (values) => {
    const attributes = Object.entries(keys).flatMap(([name, key]) => {
      const value = values[name as keyof Attributes];
      return value === undefined || value === null ? [] : [{ key, value }];
    });
    const text = JSON.stringify(attributes);
    if (!indexed || latest === text) return;
    latest = text;
    upsertSearchAttributes(attributes);
  };
}

function kindOf({ step }: { readonly step: Step }): string {
  return typeof step === 'string' ? step : step.kind;
}

/** @returns whether the workflow should continue as new now */
export function isHistoryLong(): boolean {
  const { historyLength, continueAsNewSuggested } = workflowInfo();
  return historyLength >= LONGEST_HISTORY || continueAsNewSuggested;
}

async function beginAnew(input: EntityInput): Promise<never> {
  if (!allHandlersFinished()) await condition(allHandlersFinished);
  return continueAsNew<(input: EntityInput) => Promise<unknown>>(input);
}

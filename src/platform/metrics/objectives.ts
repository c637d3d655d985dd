// What is promised of the whole service, and how often this process has kept a promise, and how often not.
// docs/operations/objectives.md
import { Counter, type Registry } from 'prom-client';

/** `share` of all must be good, and what lasts at most `seconds` is good. */
export const OBJECTIVES = {
  tokens: { share: 0.999, seconds: 1 },
  acceptance: { share: 0.999, seconds: 1 },
  first_attempts: { share: 0.999, seconds: 10 },
  revocation: { share: 0.999, seconds: 1 },
} as const;

export type Objective = keyof typeof OBJECTIVES;
export type ObjectiveCount = { readonly good: number; readonly total: number };
export type ObjectiveCounts = Readonly<Record<Objective, ObjectiveCount>>;

export const OBJECTIVE_NAMES = Object.keys(OBJECTIVES) as Objective[];

/** @returns a value for each objective */
export const forEachObjective = <Value>(value: (objective: Objective) => Value) =>
  Object.fromEntries(OBJECTIVE_NAMES.map((name) => [name, value(name)])) as Record<Objective, Value>;

/** Counts in memory, for the metric and for the rows that `countersign status` reads. */
export function createObjectives({ registry }: { registry: Registry }) {
  const counter = new Counter({
    name: 'countersign_objective_total',
    help: 'What objectives count, by whether the promise was kept: "good" or "bad".',
    labelNames: ['objective', 'outcome'],
    registers: [registry],
  });
  const counts = forEachObjective((objective) => ({
    good: 0,
    total: 0,
    metrics: { good: counter.labels(objective, 'good'), bad: counter.labels(objective, 'bad') },
  }));
  for (const { metrics } of Object.values(counts)) for (const child of Object.values(metrics)) child.inc(0);

  return {
    /** @param seconds how long it took; Infinity for a failure */
    note: (objective: Objective, seconds: number): void => {
      const own = counts[objective];
      const isGood = seconds <= OBJECTIVES[objective].seconds;
      own.total += 1;
      if (isGood) own.good += 1;
      own.metrics[isGood ? 'good' : 'bad'].inc();
    },

    /** Returns the counts since the process began. */
    read: (): ObjectiveCounts =>
      forEachObjective((objective) => ({ good: counts[objective].good, total: counts[objective].total })),
  };
}

export type Objectives = ReturnType<typeof createObjectives>;

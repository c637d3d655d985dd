// The findings of an examination of the service, and how they are mended. Pure.

/** One fault. `code` is stable, for programs; `detail` is for a person. */
export type Finding = {
  /** The check that found it. */
  readonly check: string;
  readonly code: string;
  /** The faulty thing: a workflow's id, a table, a task queue. */
  readonly subject: string;
  readonly tenantId?: string | undefined;
  readonly detail: string;
};

/**
 * The outcome of a finding. `mended`: a second check found no fault. `asked`: the mend was requested, but has not taken
 * effect yet. `left`: no mend was tried, or there is none.
 */
export type Outcome = 'mended' | 'asked' | 'left';

/** Mends one finding. Safe to repeat, and harmless when the finding was wrong. */
export type Mend = () => Promise<Exclude<Outcome, 'left'>>;

/** Receives the results of a check while it runs. */
export type Reporter = {
  /** Reports a fault; without `mend` only a person can mend it. */
  readonly found: (finding: Omit<Finding, 'check'>, mend?: Mend) => Promise<void>;
  /** Reports the number of things checked since the last call. */
  readonly looked: (count: number) => void;
};

/** A check of one part of the service. It only reads until a finding's `mend` is called. */
export type Check = {
  readonly name: string;
  /** The checked things: `key-rotation/… and their rows`. */
  readonly title: string;
  /** Throws immediately when a service that the check needs is unreachable, so that no query has to time out first. */
  readonly require?: (() => Promise<void>) | undefined;
  readonly examine: (reporter: Reporter) => Promise<void>;
};

/** The result of one check. `failure`: why it could not run. */
export type CheckReport = {
  readonly check: string;
  readonly looked: number;
  readonly found: number;
  readonly mended: number;
  readonly asked: number;
  readonly failure: string | null;
};

/** Whether every check could run and every finding was mended. */
export function isWell(reports: readonly CheckReport[]): boolean {
  return reports.every(({ failure, found, mended }) => failure === null && found === mended);
}

// The findings of an examination of the service, and how they are mended. Pure.

/** One fault: `code` is stable, for programs; `detail` is for a person. */
export type Finding = {
  readonly check: string;
  readonly code: string;
  /** The faulty object: the id of a workflow, a table, or a task queue. */
  readonly subject: string;
  readonly tenantId?: string | undefined;
  readonly detail: string;
};

/**
 * The outcome of a finding. `mended`: a second check found no fault. `asked`: the mend was requested, but has not taken
 * effect yet. `left`: no mend was tried, or none exists.
 */
export type Outcome = 'mended' | 'asked' | 'left';

/** Mends one finding. A mend can be repeated, and does no harm when the finding was wrong. */
export type Mend = () => Promise<Exclude<Outcome, 'left'>>;

export type Reporter = {
  /** Reports a fault; without `mend`, only a person can mend it. */
  readonly found: (finding: Omit<Finding, 'check'>, mend?: Mend) => Promise<void>;
  /** Reports how many objects were checked since the last call. */
  readonly looked: (count: number) => void;
};

export type Check = {
  readonly name: string;
  /** The checked objects: `key-rotation/… and their rows`. */
  readonly title: string;
  /**
   * Throws immediately when a service that the check needs is unreachable, so that no query waits for its time limit.
   */
  readonly require?: (() => Promise<void>) | undefined;
  /** Runs only when `--issuers` asks for it. */
  readonly isAskedFor?: true | undefined;
  readonly examine: (reporter: Reporter) => Promise<void>;
};

/** The result of one check; `failure` is the reason why it could not run. */
export type CheckReport = {
  readonly check: string;
  readonly looked: number;
  readonly found: number;
  readonly mended: number;
  readonly asked: number;
  readonly failure: string | null;
};

/** True when every check could run and every finding was mended. */
export function isWell(reports: readonly CheckReport[]): boolean {
  return reports.every(({ failure, found, mended }) => failure === null && found === mended);
}

// What an examination of the service finds, and what can be done about it. Pure.

/** What is wrong with one thing. `code` never changes; `detail` is for a person. */
export type Finding = {
  /** The check that found it. */
  readonly check: string;
  readonly code: string;
  /** What it is about: a workflow's id, a table, a task queue. */
  readonly subject: string;
  readonly tenantId?: string | undefined;
  readonly detail: string;
};

/**
 * What became of a finding. `mended`: it was seen to be in order afterwards. `asked`: what mends it was asked for, and had not happened
 * yet. `left`: nothing was tried, or nothing here can mend it.
 */
export type Outcome = 'mended' | 'asked' | 'left';

/** Mends one finding. Safe to repeat, and harmless where the finding was wrong. */
export type Mend = () => Promise<Exclude<Outcome, 'left'>>;

/** What a check reports while it looks. */
export type Reporter = {
  /** Something is wrong; without `mend` only a person can change it. */
  readonly found: (finding: Omit<Finding, 'check'>, mend?: Mend) => Promise<void>;
  /** Things looked at since the last call. */
  readonly looked: (count: number) => void;
};

/** One thing to be examined. It only reads, until a finding's `mend` is called. */
export type Check = {
  readonly name: string;
  /** What is looked at: `key-rotation/… and their rows`. */
  readonly title: string;
  /** Throws at once when what the check asks cannot be had, so that it need not wait for each question. */
  readonly require?: (() => Promise<void>) | undefined;
  readonly examine: (reporter: Reporter) => Promise<void>;
};

/** What one check came to. `failure`: why it could not look. */
export type CheckReport = {
  readonly check: string;
  readonly looked: number;
  readonly found: number;
  readonly mended: number;
  readonly asked: number;
  readonly failure: string | null;
};

/** Whether nothing is left to be done: every check could look, and what it found was mended. */
export function isWell(reports: readonly CheckReport[]): boolean {
  return reports.every(({ failure, found, mended }) => failure === null && found === mended);
}

// An invariant: what must be true of the rows at any time, how a breach is found and mended, and how bad it is. Pure.
import type { Breach } from '../../platform/database/breach.ts';
import type { Queryable } from '../../platform/database/transaction.ts';

/** `page`: somebody should look now. `ticket`: on the next working day. */
export type Severity = 'page' | 'ticket';

/** @template Tools what mends need */
export type Invariant<Tools = never> = {
  /** Stable: the code of the doctor's finding, the label of the metrics, the heading of the alerts page. */
  readonly name: string;
  /** What breaks it, for a person: `changes without a signal to their workflow`. */
  readonly says: string;
  /** The table. */
  readonly subject: string;
  readonly severity: Severity;
  /** Seconds after which a wrong row is a breach. Until then it is work that waits for its turn. */
  readonly late: number;
  readonly find: (queryable: Queryable, lateSeconds: number) => Promise<Breach>;
  /**
   * Mends all wrong rows, late or not. It checks each again, so it can be repeated and does no harm when nothing is
   * wrong. Absent where only a person, or a worker that runs, can mend it.
   * @returns how many rows it has changed
   */
  readonly mend?: (tools: Tools) => Promise<number>;
};

/** An invariant as it stands; `breach` is undefined where it could not be read. */
export type Standing = Pick<Invariant, 'name' | 'says' | 'severity'> & {
  readonly breach: Breach | undefined;
};

/** Such as `accepted deliveries that are not there: 3, the oldest of 2026-11-29T10:00:00.000Z`. */
export function describeBreach({ says }: Pick<Invariant, 'says'>, { count, oldest, named }: Breach): string {
  const which = named === null ? '' : ` (${named})`;
  return `${says}: ${count}${which}${oldest === null ? '' : `, the oldest of ${oldest.toISOString()}`}`;
}

// Runs the checks in sequence. A failed check is reported, and the others still run.
import { reasonOf } from '../../platform/logging.ts';
import { Service } from '../../platform/service.ts';
import type { Check, CheckReport, Finding, Outcome } from './finding.ts';

export type DoctorObserver = {
  readonly onFinding?: ((finding: Finding, outcome: Outcome) => void) | undefined;
  readonly onProgress?: ((progress: { check: Check; looked: number }) => void) | undefined;
  readonly onCheck?: ((report: CheckReport, check: Check) => void) | undefined;
};

export class DoctorService extends Service<{
  /** In the order of the run. */
  checks: readonly Check[];
}> {
  /**
   * Runs the checks, one after the other.
   * @param options.fix mends the findings that can be mended
   * @param options.issuers runs the checks that must be asked for too
   * @returns a report for each check, in their order
   */
  examine = async (
    { fix, issuers = false }: { fix: boolean; issuers?: boolean },
    observer: DoctorObserver = {},
  ): Promise<CheckReport[]> => {
    const reports: CheckReport[] = [];
    for (const check of this.needs.checks) {
      if (check.isAskedFor && !issuers) continue;
      const report = await this.#run(check, fix, observer);
      observer.onCheck?.(report, check);
      reports.push(report);
    }
    return reports;
  };

  #run = async (check: Check, fix: boolean, observer: DoctorObserver): Promise<CheckReport> => {
    let looked = 0;
    const counts = { mended: 0, asked: 0, left: 0 };
    let failure: string | null = null;
    try {
      await check.require?.();
      await check.examine({
        looked: (count) => {
          looked += count;
          observer.onProgress?.({ check, looked });
        },
        found: async (finding, mend) => {
          // A mend that fails may have changed something by then, which belongs on record.
          const tried = fix ? mend : undefined;
          let outcome: Outcome = tried === undefined ? 'left' : 'asked';
          try {
            if (tried !== undefined) outcome = await tried();
          } finally {
            counts[outcome] += 1;
            observer.onFinding?.({ check: check.name, ...finding }, outcome);
          }
        },
      });
    } catch (error) {
      failure = reasonOf(error);
    }
    const { mended, asked, left } = counts;
    return { check: check.name, looked, found: mended + asked + left, mended, asked, failure };
  };
}

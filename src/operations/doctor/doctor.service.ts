// Runs the checks one after another. One that cannot look says so, and never keeps the others from looking.
import type { Check, CheckReport, Finding, Outcome } from './finding.ts';

/** What whoever asked sees while it runs. */
export type DoctorObserver = {
  readonly onFinding?: ((finding: Finding, outcome: Outcome) => void) | undefined;
  readonly onProgress?: ((progress: { check: Check; looked: number }) => void) | undefined;
  readonly onCheck?: ((report: CheckReport, check: Check) => void) | undefined;
};

/** @param options.checks in the order in which they are to be run @param options.reasonOf why one failed, in one line */
export function createDoctorService({
  checks,
  reasonOf,
}: {
  checks: readonly Check[];
  reasonOf: (error: unknown) => string;
}) {
  async function run(check: Check, fix: boolean, observer: DoctorObserver): Promise<CheckReport> {
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
          const outcome = fix && mend !== undefined ? await mend() : 'left';
          counts[outcome] += 1;
          observer.onFinding?.({ check: check.name, ...finding }, outcome);
        },
      });
    } catch (error) {
      failure = reasonOf(error);
    }
    const { mended, asked, left } = counts;
    return { check: check.name, looked, found: mended + asked + left, mended, asked, failure };
  }

  return {
    /**
     * Examines everything once.
     * @param options.fix mends what can be mended
     * @returns a report a check, in their order
     */
    examine: async ({ fix }: { fix: boolean }, observer: DoctorObserver = {}): Promise<CheckReport[]> => {
      const reports: CheckReport[] = [];
      for (const check of checks) {
        const report = await run(check, fix, observer);
        observer.onCheck?.(report, check);
        reports.push(report);
      }
      return reports;
    },
  };
}

export type DoctorService = ReturnType<typeof createDoctorService>;

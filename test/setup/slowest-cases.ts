// A reporter that ends a run with its slowest cases, so that one that waits too long is seen.
import type { Reporter, TestModule } from 'vitest/node';

const LISTED = 20;

/** Adds one line a case to what the other reporters print: seconds, file, title. */
export default class SlowestCases implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const cases = modules.flatMap((module) =>
      [...module.children.allTests()].map((test) => ({
        seconds: (test.diagnostic()?.duration ?? 0) / 1_000,
        name: `${module.relativeModuleId} > ${test.fullName}`,
      })),
    );
    if (cases.length <= LISTED) return;
    const slowest = cases.sort((one, other) => other.seconds - one.seconds).slice(0, LISTED);
    const lines = slowest.map(({ seconds, name }) => `${seconds.toFixed(1).padStart(7)} s  ${name}`);
    process.stdout.write(`\nThe ${LISTED} slowest cases\n${lines.join('\n')}\n`);
  }
}

// The order of the test files: those that take long begin first, so that none of them is left alone at the end.
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files and folders that take longest, in this order; measured, and no more than a hint. */
const LONG = [
  'test/faults/rotation-kills.test.ts',
  'test/faults/driver.test.ts',
  'test/authentication/issuer/documents-away.test.ts',
  'test/webhooks/endpoints/waiting-deliveries.test.ts',
  'test/console/live.test.ts',
  'test/operations/',
  'test/workflows/',
  'test/app/local/',
  'test/faults/',
  'test/app/',
  'test/platform/tracing/',
  'test/webhooks/',
];

/** Vitest's own order within a folder: what took longest in the last run of this clone, or the largest file. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = ({ moduleId }: TestSpecification): number => {
      const found = LONG.findIndex((folder) => moduleId.includes(`/${folder}`));
      return found === -1 ? LONG.length : found;
    };
    return [...sorted].sort((one, other) => rank(one) - rank(other));
  }
}

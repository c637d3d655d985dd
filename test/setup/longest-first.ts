// The order of the test files: those that take long begin first, so that none of them is left alone at the end.
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** A process of the runner serves the files of one project: in between it would load all modules anew. */
const PROJECTS = ['smoke', 'processes', 'costly', 'temporal', 'database'];
/**
 * Files and folders that take longest, in this order; measured, and no more than a hint. Not the workflows: they wait
 * more than they compute, and run beside the next project's files.
 */
const LONG = [
  'test/faults/rotation-kills.test.ts',
  'test/app/roles/roles.test.ts',
  'test/faults/driver.test.ts',
  'test/faults/lost-connections.test.ts',
  'test/console/',
  'test/operations/',
  'test/webhooks/endpoints/',
  'test/app/',
  'test/faults/',
  'test/platform/',
  'test/webhooks/',
];

/** Vitest's own order within a folder: what took longest in the last run of this clone, or the largest file. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = ({ project, moduleId }: TestSpecification): number => {
      const found = LONG.findIndex((folder) => moduleId.includes(`/${folder}`));
      const place = found === -1 ? LONG.length : found;
      return PROJECTS.indexOf(project.name) * 100 + place;
    };
    return [...sorted].sort((one, other) => rank(one) - rank(other));
  }
}

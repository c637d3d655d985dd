// The examination as such: checks that fail, and mends that fail.
import { expect, it } from 'vitest';
import { DoctorService } from '../../../src/operations/doctor/doctor.service.ts';
import type { Check } from '../../../src/operations/doctor/finding.ts';

const failing: Check = {
  name: 'foundation',
  title: 'the namespace',
  examine: ({ found }) =>
    found({ code: 'namespace_missing', subject: 'namespace', detail: '' }, async () => {
      throw new Error('it is made, and nobody knows it yet');
    }),
};
const quiet: Check = { name: 'accounts', title: 'the accounts', examine: async ({ looked }) => looked(1) };

it('counts a mend that failed as asked for, as it may have changed something, and runs the other checks', async () => {
  const outcomes: string[] = [];
  const reports = await new DoctorService({ checks: [failing, quiet] }).examine(
    { fix: true },
    { onFinding: ({ code }, outcome) => outcomes.push(`${code} ${outcome}`) },
  );
  expect(outcomes).toEqual(['namespace_missing asked']);
  expect(reports).toMatchObject([
    { check: 'foundation', found: 1, mended: 0, asked: 1, failure: 'it is made, and nobody knows it yet' },
    { check: 'accounts', looked: 1, found: 0, failure: null },
  ]);
});

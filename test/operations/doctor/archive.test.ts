// A Postgres that cannot archive its WAL is found; test/operations/backup.test.ts has a real one.
import { expect, it } from 'vitest';
import { readArchive } from '../../../src/operations/doctor/cluster.store.ts';
import { createArchiveCheck } from '../../../src/operations/doctor/rows.check.ts';
import { useTestDatabase } from '../../setup/database.ts';

const test = await useTestDatabase();

it.each([
  ['one that archives nothing', readArchive, []],
  [
    'one whose last try has failed',
    async () => ({
      seconds: 90,
      waiting: 1,
      failures: 2,
      failed: { file: '000000010000000000000009', at: '2026-05-04 09:30:00+00' },
    }),
    ['wal_not_archived 000000010000000000000009: Postgres could not archive it at 2026-05-04 09:30:00+00'],
  ],
] as const)('is no finding or one for %s', async (_, read, findings) => {
  const said: string[] = [];
  await createArchiveCheck(test.database, read).examine({
    found: async ({ code, subject, detail }) => void said.push(`${code} ${subject}: ${detail.split(',')[0]}`),
    looked: () => undefined,
  });
  expect(said).toEqual(findings);
});

// The metrics of the archive of the WAL; test/operations/point-in-time.test.ts reads them of a real Postgres.
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { registerArchiveMetrics } from '../../../src/operations/invariants/archive.metrics.ts';
import type { Archive } from '../../../src/operations/invariants/cluster.store.ts';

/** The lines of a scrape, without the comments. */
async function scrape(archive: Archive | undefined): Promise<string[]> {
  const registry = new Registry();
  registerArchiveMetrics({ registry, read: async () => archive });
  return (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}
const archive: Archive = { seconds: 12.5, waiting: 3, failures: 7 };

it('says how long nothing was archived, what waits, and what has failed', async () => {
  expect(await scrape(archive)).toEqual([
    'countersign_wal_archived_age_seconds 12.5',
    'countersign_wal_waiting_files 3',
    'countersign_wal_archive_failures 7',
  ]);
});

it('says nothing where Postgres archives nothing, so no alert fires', async () => {
  expect(await scrape(undefined)).toEqual([]);
});

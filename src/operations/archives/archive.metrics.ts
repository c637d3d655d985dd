// Metrics of the archive of Postgres' WAL, the same in each worker process; absent where Postgres archives nothing.
import type { Registry } from 'prom-client';
import { createGauges } from '../../platform/metrics/gauges.ts';
import type { Archive } from './archive.store.ts';

/** @param options.read returns undefined also while the database is unreachable */
export function registerArchiveMetrics(options: {
  registry: Registry;
  read: () => Promise<Archive | undefined>;
}): void {
  const define = createGauges(options);
  define(
    {
      name: 'countersign_wal_archived_age_seconds',
      help: 'Seconds since Postgres archived a file of its WAL.',
    },
    ({ seconds }) => [[{}, seconds]],
  );
  define(
    {
      name: 'countersign_wal_waiting_files',
      help: 'Whole files of WAL, mostly of 16 MiB, that are not archived yet.',
    },
    ({ waiting }) => [[{}, waiting]],
  );
  define(
    {
      name: 'countersign_wal_archive_failures',
      help: 'Failed tries to archive a file since statistics began.',
    },
    ({ failures }) => [[{}, failures]],
  );
}

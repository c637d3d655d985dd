// Metrics of the archive of Postgres' WAL, the same in each worker process; absent where Postgres archives nothing.
import { createGauges } from '../../platform/metrics/gauges.ts';
import type { Archive } from './cluster.store.ts';

/** @param options.read returns undefined also while the database is unreachable */
export function registerArchiveMetrics(options: Parameters<typeof createGauges<Archive>>[0]): void {
  const define = createGauges(options);
  const gauge = (name: string, help: string, read: (archive: Archive) => number) =>
    define({ name: `countersign_wal_${name}`, help }, (archive) => [[{}, read(archive)]]);
  gauge('archived_age_seconds', 'Since Postgres archived a file of its WAL.', ({ seconds }) => seconds);
  gauge('waiting_files', 'Whole files of WAL that are not archived yet.', ({ waiting }) => waiting);
  gauge('archive_failures', 'Failed tries to archive since statistics began.', ({ failures }) => failures);
}

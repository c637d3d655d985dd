// SQL that adds rows to the audit log. The table itself rejects changes and deletions.
import type { Queryable } from '../platform/database/transaction.ts';
import { type AuditRecord, ENTRY_COLUMNS, insertEntries } from './audit.ts';

const INSERT = insertEntries({});

/** Inserts records in one statement. A record whose id is already stored is skipped. */
export async function insert(unit: Queryable, records: readonly AuditRecord[]): Promise<void> {
  await unit.query(INSERT, ENTRY_COLUMNS.of(records));
}

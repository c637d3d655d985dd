// SQL that adds rows to the audit log. The table itself rejects changes and deletions.
import { counted } from '../platform/database/statements.ts';
import type { Queryable } from '../platform/database/transaction.ts';
import { type AuditRecord, ENTRY_COLUMNS, insertEntries } from './audit.ts';

const insertRows = counted<unknown[][]>(insertEntries({}));

/** Inserts records in one statement. A record whose id is already stored is skipped. */
export const insert = (unit: Queryable, records: readonly AuditRecord[]) =>
  insertRows(unit, ...ENTRY_COLUMNS.of(records));

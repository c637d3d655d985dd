// Prepares audit entries and appends them to the audit log, in the transaction of the change.

import { newId } from '../platform/database/ids.ts';
import type { Queryable } from '../platform/database/transaction.ts';
import * as store from './audit.store.ts';
import { type AuditContext, type AuditEntry, type AuditRecord, prepareEntry } from './audit.ts';

/** Completes entries with data of the request. A record gets its id here, so appending it again changes nothing. */
export const prepareEntries = (context: AuditContext, entries: readonly AuditEntry[]): AuditRecord[] =>
  entries.map((entry) => prepareEntry(context, entry, newId()));

/** Appends prepared entries of one or more tenants in one round trip. An empty list causes no round trip. */
export async function appendEntries(unit: Queryable, records: readonly AuditRecord[]): Promise<void> {
  if (records.length > 0) await store.insert(unit, records);
}

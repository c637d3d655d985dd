// Prepares audit entries and appends them to the audit log, in the transaction of the change.

import { newId } from '../platform/database/ids.ts';
import type { Queryable } from '../platform/database/transaction.ts';
import * as store from './audit.store.ts';
import { type AuditContext, type AuditEntry, type AuditRecord, prepareEntry } from './audit.ts';

/**
 * Completes entries with the data of the request: tenant, client address, request id and principal. Appending a
 * prepared entry again changes nothing.
 */
export const prepareEntries = (context: AuditContext, entries: readonly AuditEntry[]): AuditRecord[] =>
  entries.map((entry) => prepareEntry(context, entry, newId()));

/** Appends prepared entries of any number of tenants: one round trip, none for an empty list. */
export async function appendEntries(unit: Queryable, records: readonly AuditRecord[]): Promise<void> {
  if (records.length > 0) await store.insert(unit, records);
}

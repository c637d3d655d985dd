// Entries of the audit log as the records of all rooms write them, inside the transaction of the change that they tell of.

import { newId } from '../platform/database/ids.ts';
import type { Queryable } from '../platform/database/transaction.ts';
import * as store from './audit.store.ts';
import { type AuditContext, type AuditEntry, type AuditRecord, prepareEntry } from './audit.ts';

/** Fixes entries, with what the request says: tenant, client address, request id and principal. Writing one again changes nothing. */
export const prepareEntries = (context: AuditContext, entries: readonly AuditEntry[]): AuditRecord[] =>
  entries.map((entry) => prepareEntry(context, entry, newId()));

/** Appends prepared entries of any number of tenants: one round trip, none for an empty list. */
export async function appendEntries(unit: Queryable, records: readonly AuditRecord[]): Promise<void> {
  if (records.length > 0) await store.insert(unit, records);
}

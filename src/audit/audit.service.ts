// Writes the audit log inside the transaction of the change that it records.

import { newId } from '../platform/database/ids.ts';
import type { Queryable } from '../platform/database/transaction.ts';
import * as store from './audit.store.ts';
import { type AuditContext, type AuditEntry, type AuditRecord, prepareEntry } from './audit.ts';

export type { AuditActor, AuditContext, AuditEntry, AuditRecord } from './audit.ts';

/** The audit log as other rooms use it. Source: Specification, "audit logs record creation and verification". */
export function createAuditService() {
  /**
   * Fixes entries for a statement that writes more than these. Writing one again changes nothing.
   * @param context the request: tenant, client address, request id and principal go into each entry
   */
  const prepare = (context: AuditContext, entries: readonly AuditEntry[]): AuditRecord[] =>
    entries.map((entry) => prepareEntry(context, entry, newId()));

  return {
    prepare,

    /**
     * Appends entries: one round trip for any number, none for an empty list. They are there when the caller's
     * transaction commits, and only then.
     * @param unit the caller's transaction (or a pool, for a record that stands alone)
     * @param context as for `prepare`
     */
    append: async (unit: Queryable, context: AuditContext, entries: readonly AuditEntry[]): Promise<void> => {
      if (entries.length > 0) await store.insert(unit, prepare(context, entries));
    },

    /** Appends prepared entries, of any number of tenants, like `append`. */
    appendPrepared: async (unit: Queryable, records: readonly AuditRecord[]): Promise<void> => {
      if (records.length > 0) await store.insert(unit, records);
    },
  };
}

export type AuditService = ReturnType<typeof createAuditService>;

// Writes the audit log inside the transaction of the change that it records. It must never open a transaction of its own.
import type { Queryable } from '../database/transaction.ts';
import type { AuditStore } from './audit.store.ts';
import type { AuditContext, AuditEntry } from './audit.ts';

export type { AuditActor, AuditContext, AuditEntry } from './audit.ts';

/** The audit log as other rooms use it. Source: Specification, "audit logs record creation and verification". */
export function createAuditService({ store }: { store: AuditStore }) {
  return {
    /**
     * Appends entries: one round trip whatever their number, none for an empty list. They are there when the caller's
     * transaction commits, and only then.
     * @param unit the caller's transaction (or a pool, for a record that stands alone)
     * @param context the request: tenant, client address, request id and principal go into each entry
     */
    append: async (unit: Queryable, context: AuditContext, entries: readonly AuditEntry[]): Promise<void> => {
      if (entries.length > 0) await store.insert(unit, context, entries);
    },
  };
}

export type AuditService = ReturnType<typeof createAuditService>;

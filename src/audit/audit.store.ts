// All SQL of the audit log. It must never change or delete a row: the table itself refuses that too.
import { newId } from '../database/ids.ts';
import type { Queryable } from '../database/transaction.ts';
import { type AuditContext, type AuditEntry, actorOf } from './audit.ts';

const INSERT = `
INSERT INTO audit_log
  (id, tenant_id, action, outcome, reason, actor_kind, actor_id, target_type, target_id, key_id, token_id, data, address, request_id)
SELECT id, $1, action, outcome, reason, actor_kind, actor_id, target_type, target_id, key_id, token_id, data::jsonb, $2, $3
FROM unnest($4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::uuid[], $13::text[], $14::text[])
  AS entry (id, action, outcome, reason, actor_kind, actor_id, target_type, target_id, key_id, token_id, data)`;

/** SQL of the audit log; every function runs on the caller's connection. */
export function createAuditStore() {
  return {
    /** Inserts any number of entries in one statement, in their order (ids ascend). */
    insert: async (unit: Queryable, context: AuditContext, entries: readonly AuditEntry[]): Promise<void> => {
      const actors = entries.map((entry) => actorOf(context, entry));
      await unit.query(INSERT, [
        context.tenant.id,
        context.address,
        context.requestId,
        entries.map(() => newId()),
        entries.map((entry) => entry.action),
        entries.map((entry) => entry.outcome),
        entries.map((entry) => entry.reason ?? null),
        actors.map((actor) => actor.kind),
        actors.map((actor) => actor.id ?? null),
        entries.map((entry) => entry.target?.type ?? null),
        entries.map((entry) => entry.target?.id ?? null),
        entries.map((entry) => entry.keyId ?? null),
        entries.map((entry) => entry.tokenId ?? null),
        entries.map((entry) => JSON.stringify(entry.data ?? {})),
      ]);
    },
  };
}

export type AuditStore = ReturnType<typeof createAuditStore>;

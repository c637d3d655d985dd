// SQL that adds rows to the audit log. The table itself rejects changes and deletions.
import type { Queryable } from '../platform/database/transaction.ts';
import { type AuditRecord, auditColumns } from './audit.ts';

const INSERT = `
INSERT INTO audit_log (id, tenant_id, action, outcome, reason, actor_kind, actor_id, target_type, target_id, key_id, token_id, data,
  address, request_id)
SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
  $10::uuid[], $11::text[], $12::jsonb[], $13::text[], $14::text[])
ON CONFLICT DO NOTHING`;

/** Inserts records in one statement. A record whose id is already stored is skipped. */
export async function insert(unit: Queryable, records: readonly AuditRecord[]): Promise<void> {
  await unit.query(INSERT, auditColumns(records));
}

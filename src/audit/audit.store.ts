// All SQL of the audit log. It must never change or delete a row: the table itself refuses that too.
import type { Queryable } from '../database/transaction.ts';
import type { AuditRecord } from './audit.ts';

/** Columns with their types, and what a record holds for each. */
const COLUMNS: readonly (readonly [
  name: string,
  type: string,
  read: (record: AuditRecord) => string | null,
])[] = [
  ['id', 'uuid', ({ id }) => id],
  ['tenant_id', 'uuid', ({ tenantId }) => tenantId],
  ['action', 'text', ({ action }) => action],
  ['outcome', 'text', ({ outcome }) => outcome],
  ['reason', 'text', ({ reason }) => reason],
  ['actor_kind', 'text', ({ actorKind }) => actorKind],
  ['actor_id', 'text', ({ actorId }) => actorId],
  ['target_type', 'text', ({ targetType }) => targetType],
  ['target_id', 'text', ({ targetId }) => targetId],
  ['key_id', 'uuid', ({ keyId }) => keyId],
  ['token_id', 'text', ({ tokenId }) => tokenId],
  ['data', 'jsonb', ({ data }) => data],
  ['address', 'text', ({ address }) => address],
  ['request_id', 'text', ({ requestId }) => requestId],
];

const INSERT = `
INSERT INTO audit_log (${COLUMNS.map(([name]) => name).join(', ')})
SELECT * FROM unnest(${COLUMNS.map(([, type], index) => `$${index + 1}::${type}[]`).join(', ')})
ON CONFLICT DO NOTHING`;

/** SQL of the audit log; every function runs on the caller's connection. */
export function createAuditStore() {
  return {
    /** Inserts any number of records in one statement. One whose id is there already is left as it is. */
    insert: async (unit: Queryable, records: readonly AuditRecord[]): Promise<void> => {
      await unit.query(
        INSERT,
        COLUMNS.map(([, , read]) => records.map(read)),
      );
    },
  };
}

export type AuditStore = ReturnType<typeof createAuditStore>;

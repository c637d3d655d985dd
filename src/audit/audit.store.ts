// All SQL of the audit log. It must never change or delete a row: the table itself refuses that too.
import { ADMITTED } from '../platform/database/statement-parts.ts';
import type { Queryable } from '../platform/database/transaction.ts';
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

const NAMES = COLUMNS.map(([name]) => name).join(', ');
const ARRAYS = COLUMNS.map(([, type], index) => `$${index + 1}::${type}[]`).join(', ');

const INSERT = `
INSERT INTO audit_log (${NAMES}) SELECT ${NAMES} FROM unnest(${ARRAYS}) AS entry (${NAMES})
ON CONFLICT DO NOTHING`;

const INSERT_ADMITTED = `
INSERT INTO audit_log (${NAMES})
SELECT ${NAMES} FROM unnest(${ARRAYS}, $${COLUMNS.length + 1}::text[]) AS entry (${NAMES}, guard)
WHERE guard IN (SELECT guard FROM ${ADMITTED})
ON CONFLICT DO NOTHING`;

/** The insert as part of a larger statement: of all records, or of those whose guard is admitted. */
const PARTS = {
  all: {
    text: `new_audit_entries AS (${INSERT})`,
    valuesOf: (records: readonly AuditRecord[]) => COLUMNS.map(([, , read]) => records.map(read)),
  },
  admitted: {
    text: `new_audit_entries AS (${INSERT_ADMITTED})`,
    valuesOf: (guarded: readonly (readonly [guard: string, record: AuditRecord])[]) => [
      ...COLUMNS.map(([, , read]) => guarded.map(([, record]) => read(record))),
      guarded.map(([guard]) => guard),
    ],
  },
} as const;

/** Inserts any number of records in one statement. One whose id is there already is left as it is. */
export async function insert(unit: Queryable, records: readonly AuditRecord[]): Promise<void> {
  await unit.query(INSERT, PARTS.all.valuesOf(records));
}

/** @see createAuditService */
export const parts = PARTS;

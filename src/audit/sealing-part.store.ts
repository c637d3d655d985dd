// SQL of the parts of the next seal. Their rows are work in progress: each may be deleted at any time.
import { nestRow } from '../platform/database/nested-row.ts';
import type { Queryable } from '../platform/database/transaction.ts';
import { type AuditRow, toAuditRow } from './audit-row.ts';
import { bytes, HORIZON, ROW, type SelectedRow } from './checkpoint.store.ts';
import type { Position } from './checkpoint.ts';
import type { SignedText, StoredPart } from './sealing-part.node.ts';

// One page of the index of positions; the table is read for the tenants alone.
const NEXT_ROWS = `
WITH next AS MATERIALIZED (
  SELECT tenant_id, xid, id FROM audit_log WHERE (xid, id) > ($1::xid8, $2::uuid) AND ${HORIZON} ORDER BY xid, id LIMIT $3
)
SELECT tenant_id AS "tenantId", count(*)::int AS rows, (SELECT n.xid::text FROM next n ORDER BY n.xid DESC, n.id DESC LIMIT 1) AS "last.xid",
  (SELECT n.id FROM next n ORDER BY n.xid DESC, n.id DESC LIMIT 1) AS "last.id"
FROM next GROUP BY tenant_id ORDER BY rows DESC, tenant_id`;

const ROWS_OF = `
SELECT r.fields FROM unnest($1::uuid[]) AS t(tenant) CROSS JOIN LATERAL (
  SELECT xid, id, ${ROW} FROM audit_log
  WHERE tenant_id = t.tenant AND (xid, id) > ($2::xid8, $3::uuid) AND (xid, id) <= ($4::xid8, $5::uuid)
  ORDER BY xid, id LIMIT $6
) AS r`;

const STORED = `
SELECT assignment AS "assignment.text", assignment_signature AS "assignment.signature", result AS "result.text",
  result_signature AS "result.signature", encode(sha256(convert_to(checkpoints, 'UTF8')), 'hex') AS "result.digest"
FROM audit_seal_parts ORDER BY part`;

/**
 * Counts the next finished rows of each tenant.
 * @returns the greatest number first; `last`: the last position of all
 */
export async function countNext(
  unit: Queryable,
  after: Position,
  limit: number,
): Promise<{ readonly tenantId: string; readonly rows: number; readonly last: Position }[]> {
  const { rows } = await unit.query(NEXT_ROWS, [after.xid, after.id, limit]);
  return rows.map((row) => nestRow(row));
}

/** Lists the rows of some tenants between two positions, of each in the order of sealing. */
export async function listRowsOf(
  unit: Queryable,
  tenantIds: readonly string[],
  { after, last, limit }: { readonly after: Position; readonly last: Position; readonly limit: number },
): Promise<AuditRow[]> {
  const values = [tenantIds, after.xid, after.id, last.xid, last.id, limit];
  const { rows } = await unit.query<SelectedRow>(ROWS_OF, values);
  return rows.map(({ fields }) => toAuditRow(fields));
}

/** Stores the parts of a seal, which any sealer may then take. */
export async function insertParts(unit: Queryable, assignments: readonly SignedText[]): Promise<void> {
  await unit.query(
    `INSERT INTO audit_seal_parts (part, assignment, assignment_signature)
     SELECT place - 1, text, signature FROM unnest($1::text[], $2::bytea[]) WITH ORDINALITY AS a(text, signature, place)`,
    [assignments.map(({ text }) => text), assignments.map(({ signature }) => bytes(signature))],
  );
}

/** Takes a part that nobody makes, until the transaction ends. @returns undefined when there is none */
export async function takePart(
  unit: Queryable,
): Promise<{ readonly part: number; readonly assignment: SignedText } | undefined> {
  const { rows } = await unit.query(
    `SELECT part, assignment AS "assignment.text", assignment_signature AS "assignment.signature" FROM audit_seal_parts
     WHERE result IS NULL ORDER BY part LIMIT 1 FOR UPDATE SKIP LOCKED`,
  );
  return rows[0] && nestRow(rows[0]);
}

export async function keepResult(
  unit: Queryable,
  part: number,
  { text, signature }: SignedText,
  checkpoints: string,
): Promise<void> {
  await unit.query(
    'UPDATE audit_seal_parts SET result = $2, result_signature = $3, checkpoints = $4 WHERE part = $1',
    [part, text, bytes(signature), checkpoints],
  );
}

/** Lists the parts in the order of their numbers, without their checkpoints. */
export async function listParts(unit: Queryable): Promise<StoredPart[]> {
  const { rows } = await unit.query(STORED);
  return rows.map((row) => {
    const { assignment, result } = nestRow<StoredPart & { result: { text: string | null } }>(row);
    return { assignment, result: result.text === null ? null : result };
  });
}

export async function deleteParts(unit: Queryable): Promise<void> {
  await unit.query('DELETE FROM audit_seal_parts');
}

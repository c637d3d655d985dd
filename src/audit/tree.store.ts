// SQL that reads a tenant's growing tree: its checkpoints, its leaves and its kept roots. No statement reads more than
// the hashes of one proof.
import { many, one } from '../platform/database/statements.ts';
import type { Queryable } from '../platform/database/transaction.ts';
import { type AuditRow, toAuditRow } from './audit-row.ts';
import {
  CHECKPOINT_COLUMNS,
  type FlatCheckpoint,
  ROW,
  type SelectedRow,
  type SignedCheckpoint,
  toCheckpoint,
} from './checkpoint.store.ts';
import type { KeptHash } from './merkle-proof.node.ts';

/** A row of the log with the number of its leaf, from 0; null while it is in no tree. */
export type TreeEntry = {
  readonly row: AuditRow;
  readonly index: number | null;
  readonly addressSalt: string | null;
};

const OF_LEAF = `
SELECT tree_size - count AS start, leaves, nodes FROM audit_checkpoints
WHERE tenant_id = $1 AND tree_size > w.leaf ORDER BY tree_size LIMIT 1`;

const hashesOf = many<
  { hash: Uint8Array },
  [tenantId: string, leaves: readonly number[], roots: readonly (number | null)[]]
>(`
SELECT CASE WHEN w.root IS NULL THEN substring(c.leaves FROM ((w.leaf - c.start) * 32 + 1)::int FOR 32)
  ELSE substring(c.nodes FROM ((w.root - audit_tree_nodes(c.start)) * 32 + 1)::int FOR 32) END AS hash
FROM unnest($2::bigint[], $3::bigint[]) WITH ORDINALITY AS w(leaf, root, place) CROSS JOIN LATERAL (${OF_LEAF}) AS c
ORDER BY w.place`);

const entryOf = one<SelectedRow & Omit<TreeEntry, 'row'>, [tenantId: string, id: string]>(`
SELECT l.fields, l.address_salt, (
  SELECT c.tree_size - c.count + array_position(c.row_ids, l.id) - 1 FROM (
    SELECT * FROM audit_checkpoints WHERE tenant_id = $1 AND (last_xid, last_id) >= (l.xid, l.id)
    ORDER BY last_xid, last_id LIMIT 1
  ) AS c
) AS index
FROM (SELECT id, xid, address_salt, ${ROW} FROM audit_log WHERE tenant_id = $1 AND id = $2) AS l`);

const treeOf = one<FlatCheckpoint, [tenantId: string, size: number | undefined]>(`
SELECT ${CHECKPOINT_COLUMNS} FROM audit_checkpoints c
WHERE c.tenant_id = $1 AND c.tree_size = coalesce($2::bigint, (
  SELECT tree_size FROM audit_checkpoints WHERE tenant_id = $1 ORDER BY tree_size DESC LIMIT 1
))`);

/** Returns the checkpoint of a tree. @param size its leaves; the newest tree when undefined */
export async function findTree(
  queryable: Queryable,
  tenantId: string,
  size: number | undefined,
): Promise<SignedCheckpoint | undefined> {
  const tree = await treeOf(queryable, tenantId, size);
  return tree && toCheckpoint(tree);
}

/** @returns undefined when the tenant has no such row */
export async function findEntry(
  queryable: Queryable,
  tenantId: string,
  id: string,
): Promise<TreeEntry | undefined> {
  const found = await entryOf(queryable, tenantId, id);
  return found && { ...found, row: toAuditRow(found.fields) };
}

/** Reads hashes of the tree, in the order in which they are asked for. */
export async function readHashes(
  queryable: Queryable,
  tenantId: string,
  wanted: readonly KeptHash[],
): Promise<Uint8Array[]> {
  if (wanted.length === 0) return [];
  const rows = await hashesOf(
    queryable,
    tenantId,
    wanted.map(({ leaf }) => leaf),
    wanted.map(({ root }) => root),
  );
  return rows.map(({ hash }) => hash);
}

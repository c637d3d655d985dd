// One growing Merkle tree for each tenant's audit log: a checkpoint holds the part that its rows added.

export const auditTree = `
-- Null in the checkpoints of earlier versions, which had a tree each: their rows are in no growing tree.
ALTER TABLE audit_checkpoints
  -- Leaves of the tenant's tree up to and with this checkpoint; root is its root then.
  ADD COLUMN tree_size bigint,
  -- Roots of the tree's complete subtrees, with which the next checkpoint goes on: at most one for each bit of tree_size.
  ADD COLUMN peaks bytea,
  -- Roots of subtrees of at least 8 leaves that this checkpoint's rows completed, for proofs.
  ADD COLUMN nodes bytea;
-- Hashes do not compress.
ALTER TABLE audit_checkpoints ALTER COLUMN peaks SET STORAGE EXTERNAL, ALTER COLUMN nodes SET STORAGE EXTERNAL;
-- A worker of an earlier version seals no more, because its checkpoint would leave a gap in the tree.
ALTER TABLE audit_checkpoints ADD CONSTRAINT audit_checkpoints_grow
  CHECK (tree_size IS NOT NULL AND peaks IS NOT NULL AND nodes IS NOT NULL) NOT VALID;

-- How many nodes the first leaves of a tree complete.
CREATE FUNCTION audit_tree_nodes(leaves bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $function$
  SELECT coalesce(sum(leaves >> level), 0)::bigint FROM generate_series(3, 62) AS level
$function$;
`;

/** Finds the checkpoint of a leaf. */
export const auditTreeBySize = {
  index: 'audit_checkpoints_by_tree',
  on: 'audit_checkpoints (tenant_id, tree_size)',
};

/** Finds the checkpoint of a row. */
export const auditTreeByPosition = {
  index: 'audit_checkpoints_by_position',
  on: 'audit_checkpoints (tenant_id, last_xid, last_id)',
};

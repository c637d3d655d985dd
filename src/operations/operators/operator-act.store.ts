// SQL of the operator acts. The table refuses every update and deletion of a row.
import { done, many, only, value } from '../../platform/database/statements.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import type { OperatorAct, OperatorDeed, OperatorIntent, RecordState } from './operator-act.ts';

/** The newest acts, the newest first. */
export const list = many<OperatorAct, [limit: number]>(`
SELECT n, at, operator, action, jsonb_build_object('type', target_type, 'id', target_id) AS target, reason, data, tenants
FROM operator_acts ORDER BY n DESC LIMIT $1`);

// The act after a missing number is not counted as altered, because its predecessor is unknown; the gap is reported
// instead.
const examineAll = only<Omit<RecordState, 'head'> & RecordState['head']>(`
WITH chain AS (
  SELECT act.n, act.hash, operator_act_hash(coalesce(lag(act.hash) OVER (ORDER BY act.n), ''), act) AS expected,
    act.n - coalesce(lag(act.n) OVER (ORDER BY act.n), 0) = 1 AS follows
  FROM operator_acts act
)
SELECT head.n::float8 AS n, encode(head.hash, 'hex') AS hash,
  (greatest(head.n, (SELECT max(n) FROM chain)) - (SELECT count(*) FROM chain))::float8 AS missing,
  (SELECT count(*) FILTER (WHERE follows AND hash <> expected OR chain.n >= head.n AND chain.hash <> head.hash) FROM chain)::float8 AS altered
FROM operator_act_head head`);

// The head's row, because a lock of the table would need a right to change its rows.
const lockHead = done('SELECT FROM operator_act_head FOR UPDATE');

const insertNext = value<
  number,
  [
    operator: string,
    action: string,
    targetType: string,
    targetId: string,
    reason: string,
    data: OperatorDeed['data'],
    tenants: number,
  ]
>(`
INSERT INTO operator_acts (n, operator, action, target_type, target_id, reason, data, tenants)
SELECT coalesce(max(n), 0) + 1, $1, $2, $3, $4, $5, $6::jsonb, $7 FROM operator_acts RETURNING n`);

/** Adds an act under the next number; concurrent inserts wait for the caller's commit. @returns its number */
export async function insert(
  unit: Queryable,
  { operator, reason, action, target, data = {} }: OperatorIntent & OperatorDeed,
  tenants: number,
): Promise<number> {
  await lockHead(unit);
  return insertNext(unit, operator, action, target.type, target.id, reason, data, tenants);
}

/** Checks the hash chain of all acts and its newest hash. Acts are never deleted, so each missing number is a fault. */
export async function examine(queryable: Queryable): Promise<RecordState> {
  const { missing, altered, ...head } = await examineAll(queryable);
  return { missing, altered, head };
}

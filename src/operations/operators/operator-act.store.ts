// SQL of the record of operators' acts. It must never change or delete a row: the table itself refuses that too.
import type { Queryable } from '../../platform/database/transaction.ts';
import type { OperatorAct, OperatorDeed, OperatorIntent, RecordState } from './operator-act.ts';

type Row = {
  n: number;
  at: Date;
  operator: string;
  action: string;
  target_type: OperatorDeed['target']['type'];
  target_id: string;
  reason: string;
  data: Record<string, unknown>;
  tenants: number;
};

// An act behind a gap follows from one that is not there: the gap is told, not the act.
const EXAMINE = `
WITH chain AS (
  SELECT act.n, act.hash, operator_act_hash(coalesce(lag(act.hash) OVER (ORDER BY act.n), ''), act) AS expected,
    act.n - coalesce(lag(act.n) OVER (ORDER BY act.n), 0) = 1 AS follows
  FROM operator_acts act
)
SELECT head.n::float8 AS n, encode(head.hash, 'hex') AS hash,
  (greatest(head.n, (SELECT max(n) FROM chain)) - (SELECT count(*) FROM chain))::float8 AS missing,
  (SELECT count(*) FILTER (WHERE follows AND hash <> expected OR chain.n >= head.n AND chain.hash <> head.hash) FROM chain)::float8 AS altered
FROM operator_act_head head`;

/** Adds an act under the next number; others that act at the same time wait for the caller's commit. @returns its number */
export async function insert(
  unit: Queryable,
  { operator, reason, action, target, data = {} }: OperatorIntent & OperatorDeed,
  tenants: number,
): Promise<number> {
  await unit.query('LOCK TABLE operator_acts IN SHARE ROW EXCLUSIVE MODE');
  const { rows } = await unit.query<{ n: number }>(
    `INSERT INTO operator_acts (n, operator, action, target_type, target_id, reason, data, tenants)
         SELECT coalesce(max(n), 0) + 1, $1, $2, $3, $4, $5, $6::jsonb, $7 FROM operator_acts RETURNING n::float8 AS n`,
    [operator, action, target.type, target.id, reason, JSON.stringify(data), tenants],
  );
  return rows[0]?.n ?? 0;
}

/** The newest acts, the newest first. */
export async function list(queryable: Queryable, limit: number): Promise<OperatorAct[]> {
  const { rows } = await queryable.query<Row>(
    `SELECT n::float8 AS n, at, operator, action, target_type, target_id, reason, data, tenants
         FROM operator_acts ORDER BY operator_acts.n DESC LIMIT $1`,
    [limit],
  );
  return rows.map(({ target_type: type, target_id: id, ...act }) => ({ ...act, target: { type, id } }));
}

/** Holds all acts against one another and the head. Acts are never deleted: nothing should be missing. */
export async function examine(queryable: Queryable): Promise<RecordState> {
  const { rows } = await queryable.query<Omit<RecordState, 'head'> & { n: number; hash: string }>(EXAMINE);
  const { missing = 0, altered = 0, n = 0, hash = '' } = rows[0] ?? {};
  return { missing, altered, head: { n, hash } };
}

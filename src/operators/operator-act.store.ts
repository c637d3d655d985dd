// SQL of the record of operators' acts. It must never change or delete a row: the table itself refuses that too.
import type { Queryable } from '../database/transaction.ts';
import type { OperatorAct, OperatorDeed, OperatorIntent } from './operator-act.ts';

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

/** SQL of `operator_acts`; every function runs on the caller's connection. */
export function createOperatorActStore() {
  return {
    /** Adds an act under the next number; others that act at the same time wait for the caller's commit. @returns its number */
    insert: async (
      unit: Queryable,
      { operator, reason, action, target, data = {} }: OperatorIntent & OperatorDeed,
      tenants: number,
    ): Promise<number> => {
      await unit.query('LOCK TABLE operator_acts IN SHARE ROW EXCLUSIVE MODE');
      const { rows } = await unit.query<{ n: number }>(
        `INSERT INTO operator_acts (n, operator, action, target_type, target_id, reason, data, tenants)
         SELECT coalesce(max(n), 0) + 1, $1, $2, $3, $4, $5, $6::jsonb, $7 FROM operator_acts RETURNING n::float8 AS n`,
        [operator, action, target.type, target.id, reason, JSON.stringify(data), tenants],
      );
      return rows[0]?.n ?? 0;
    },

    /** The newest acts, the newest first. */
    list: async (queryable: Queryable, limit: number): Promise<OperatorAct[]> => {
      const { rows } = await queryable.query<Row>(
        `SELECT n::float8 AS n, at, operator, action, target_type, target_id, reason, data, tenants
         FROM operator_acts ORDER BY operator_acts.n DESC LIMIT $1`,
        [limit],
      );
      return rows.map(({ target_type: type, target_id: id, ...act }) => ({ ...act, target: { type, id } }));
    },

    /** Numbers up to the newest that have no row. Acts are never deleted: there should be none. */
    countMissing: async (queryable: Queryable): Promise<number> => {
      const { rows } = await queryable.query<{ missing: number }>(
        'SELECT (coalesce(max(n), 0) - count(*))::float8 AS missing FROM operator_acts',
      );
      return rows[0]?.missing ?? 0;
    },
  };
}

export type OperatorActStore = ReturnType<typeof createOperatorActStore>;

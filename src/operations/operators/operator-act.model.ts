// The tables of the acts of operators: each act, and the number and hash of the newest.
import {
  bigint,
  boolean,
  bytes,
  defineTable,
  given,
  integer,
  json,
  primaryKey,
  type RowOf,
  text,
  time,
} from '../../platform/database/table.ts';

export const OPERATOR_ACT = defineTable('operator_acts', {
  n: primaryKey(bigint()),
  at: given(time()),
  operator: text(),
  action: text(),
  targetType: text(),
  targetId: text(),
  reason: text(),
  data: given(json<Readonly<Record<string, unknown>>>()),
  tenants: integer(),
  hash: bytes(),
});

export type OperatorActRow = RowOf<typeof OPERATOR_ACT>;

export const OPERATOR_ACT_HEAD = defineTable('operator_act_head', {
  onlyRow: primaryKey(given(boolean())),
  n: given(bigint()),
  hash: given(bytes()),
});

// The tables of operators.
import {
  bigint,
  boolean,
  bytes,
  defineTable,
  given,
  integer,
  json,
  primaryKey,
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
  data: given(json<unknown>()),
  tenants: integer(),
  hash: bytes(),
});

export const OPERATOR_ACT_HEAD = defineTable('operator_act_head', {
  onlyRow: primaryKey(given(boolean())),
  n: given(bigint()),
  hash: given(bytes()),
});

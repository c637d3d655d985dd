// The table of operator acts. Rows are added under a lock on the table and never changed.
import {
  bigint,
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
import type { OperatorDeed } from './operator-act.ts';

export const OPERATOR_ACT = defineTable('operator_acts', {
  n: primaryKey(bigint()),
  at: given(time()),
  operator: text(),
  action: text(),
  targetType: text<OperatorDeed['target']['type']>(),
  targetId: text(),
  reason: text(),
  data: given(json<Record<string, unknown>>()),
  tenants: integer(),
  /** A hash over this act and the hash of the previous act, computed by a trigger. */
  hash: bytes(),
});

export type OperatorActRow = RowOf<typeof OPERATOR_ACT>;

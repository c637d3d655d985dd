// The table of key rotations.
import {
  defineTable,
  integer,
  nullable,
  type RowOf,
  TENANT_ROW,
  text,
  time,
  uuid,
} from '../../platform/database/table.ts';
import type { EndReason, RotationState } from './rotation.ts';

export const KEY_ROTATION = defineTable('key_rotations', {
  ...TENANT_ROW,
  agentId: uuid(),
  oldKeyId: uuid(),
  newKeyId: uuid(),
  state: text<RotationState>(),
  endReason: nullable(text<EndReason>()),
  overlapSeconds: integer(),
  deadlineAt: time(),
  switchedAt: nullable(time()),
  stalledAt: nullable(time()),
  endedAt: nullable(time()),
});

export type RotationRow = RowOf<typeof KEY_ROTATION>;

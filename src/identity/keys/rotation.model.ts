// The table of key rotations.
import {
  defineTable,
  given,
  integer,
  nullable,
  primaryKey,
  type RowOf,
  text,
  time,
  uuid,
} from '../../platform/database/table.ts';
import type { EndReason, RotationState } from './rotation.ts';

export const KEY_ROTATION = defineTable('key_rotations', {
  id: primaryKey(uuid()),
  tenantId: uuid(),
  agentId: uuid(),
  oldKeyId: uuid(),
  newKeyId: uuid(),
  state: text<RotationState>(),
  endReason: nullable(text<EndReason>()),
  overlapSeconds: integer(),
  deadlineAt: time(),
  switchedAt: nullable(time()),
  stalledAt: nullable(time()),
  createdAt: given(time()),
  endedAt: nullable(time()),
});

export type RotationRow = RowOf<typeof KEY_ROTATION>;

// The table of delegations. The view `delegation_records` computes the status when it is read.
import {
  defineTable,
  nullable,
  type RowOf,
  TENANT_ROW,
  text,
  texts,
  time,
  uuid,
} from '../../platform/database/table.ts';

export const DELEGATION = defineTable('delegations', {
  ...TENANT_ROW,
  agentId: uuid(),
  userId: uuid(),
  scopes: texts(),
  audience: nullable(text()),
  expiresAt: time(),
  revokedAt: nullable(time()),
  revokedReason: nullable(text()),
  expiredAt: nullable(time()),
});

export type DelegationRow = RowOf<typeof DELEGATION>;

// The table of delegations. The view `delegation_records` computes the status when it is read.
import {
  defineTable,
  given,
  nullable,
  primaryKey,
  type RowOf,
  text,
  texts,
  time,
  uuid,
} from '../../platform/database/table.ts';

export const DELEGATION = defineTable('delegations', {
  id: primaryKey(uuid()),
  tenantId: uuid(),
  agentId: uuid(),
  subjectIssuer: text(),
  subjectSub: text(),
  scopes: texts(),
  audience: nullable(text()),
  expiresAt: time(),
  createdAt: given(time()),
  revokedAt: nullable(time()),
  revokedReason: nullable(text()),
  expiredAt: nullable(time()),
});

export type DelegationRow = RowOf<typeof DELEGATION>;

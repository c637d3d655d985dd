// The table of delegations. The view `delegation_records` computes the status when it is read.
import {
  defineTable,
  given,
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
  /** Names that an earlier version wrote, until `adopt` has moved them to the user. */
  subjectIssuer: given(text()),
  subjectSub: given(text()),
  scopes: texts(),
  audience: nullable(text()),
  expiresAt: time(),
  revokedAt: nullable(time()),
  revokedReason: nullable(text()),
  expiredAt: nullable(time()),
  userId: nullable(uuid()),
});

export type DelegationRow = RowOf<typeof DELEGATION>;

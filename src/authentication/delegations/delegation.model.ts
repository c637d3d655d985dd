// The table of delegations; the view `delegation_records` gives the status as of the moment of reading.
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
  /** When its end was written down. */
  expiredAt: nullable(time()),
});

export type DelegationRow = RowOf<typeof DELEGATION>;

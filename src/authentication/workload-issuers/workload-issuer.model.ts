// The table of workload issuers: that of trusted issuers, with rules.
import {
  bytes,
  defineTable,
  given,
  json,
  nullable,
  primaryKey,
  type RowOf,
  smallint,
  time,
  uuid,
} from '../../platform/database/table.ts';
import { ISSUER_COLUMNS } from '../trusted-issuers/trusted-issuer.model.ts';
import type { WorkloadRule } from './claim-rules.ts';

export const WORKLOAD_ISSUER = defineTable('workload_issuers', {
  ...ISSUER_COLUMNS,
  rules: json<readonly WorkloadRule[]>(),
});

export type WorkloadIssuerRow = RowOf<typeof WORKLOAD_ISSUER>;

export const WORKLOAD_ASSERTION = defineTable('workload_assertions', {
  tenantId: primaryKey(uuid()),
  hash: primaryKey(bytes()),
  expiresAt: time(),
  request: nullable(bytes()),
  repeats: given(smallint()),
  usedAt: given(time()),
});

// The table of workload issuers: that of trusted issuers, with rules.
import { defineTable, json, type RowOf } from '../../platform/database/table.ts';
import { ISSUER_COLUMNS } from '../trusted-issuers/trusted-issuer.model.ts';
import type { WorkloadRule } from './claim-rules.ts';

export const WORKLOAD_ISSUER = defineTable('workload_issuers', {
  ...ISSUER_COLUMNS,
  rules: json<readonly WorkloadRule[]>(),
});

export type WorkloadIssuerRow = RowOf<typeof WORKLOAD_ISSUER>;

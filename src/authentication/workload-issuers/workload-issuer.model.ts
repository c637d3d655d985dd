// The table of workload issuers. Exactly one of `jwksUri` and `jwks` is not null. `fetchedAt`: the latest fetch from
// `jwksUri`; `fetchError`: why it failed.
import {
  defineTable,
  given,
  json,
  nullable,
  primaryKey,
  type RowOf,
  text,
  texts,
  time,
  uuid,
} from '../../platform/database/table.ts';
import type { InlineJwks } from '../trusted-issuers/trusted-issuer.ts';
import type { WorkloadRule } from './claim-rules.ts';

export const WORKLOAD_ISSUER = defineTable('workload_issuers', {
  id: primaryKey(uuid()),
  tenantId: uuid(),
  issuer: text(),
  jwksUri: nullable(text()),
  jwks: nullable(json<InlineJwks>()),
  audiences: texts(),
  rules: json<readonly WorkloadRule[]>(),
  fetchedAt: nullable(time()),
  fetchError: nullable(text()),
  createdAt: given(time()),
  updatedAt: given(time()),
});

export type WorkloadIssuerRow = RowOf<typeof WORKLOAD_ISSUER>;

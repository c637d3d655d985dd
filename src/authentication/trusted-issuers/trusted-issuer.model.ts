// The table of trusted issuers. Exactly one of `jwksUri` and `jwks` is not null. `fetchedAt`: the latest fetch from
// `jwksUri`; `fetchError`: why it failed.
import {
  defineTable,
  given,
  json,
  nullable,
  type RowOf,
  TENANT_ROW,
  text,
  texts,
  time,
} from '../../platform/database/table.ts';
import type { InlineJwks } from './trusted-issuer.ts';

/** The columns of trusted issuers and of workload issuers. */
export const ISSUER_COLUMNS = {
  ...TENANT_ROW,
  issuer: text(),
  jwksUri: nullable(text()),
  jwks: nullable(json<InlineJwks>()),
  audiences: texts(),
  fetchedAt: nullable(time()),
  fetchError: nullable(text()),
  updatedAt: given(time()),
};

export const TRUSTED_ISSUER = defineTable('trusted_issuers', ISSUER_COLUMNS);

export type TrustedIssuerRow = RowOf<typeof TRUSTED_ISSUER>;

// The table of trusted issuers. Exactly one of `jwksUri` and `jwks` is not null. `fetchedAt`: the latest fetch from
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
import type { InlineJwks } from './trusted-issuer.ts';

/** The columns of trusted issuers and of workload issuers. */
export const ISSUER_COLUMNS = {
  id: primaryKey(uuid()),
  tenantId: uuid(),
  issuer: text(),
  jwksUri: nullable(text()),
  jwks: nullable(json<InlineJwks>()),
  audiences: texts(),
  fetchedAt: nullable(time()),
  fetchError: nullable(text()),
  createdAt: given(time()),
  updatedAt: given(time()),
};

export const TRUSTED_ISSUER = defineTable('trusted_issuers', ISSUER_COLUMNS);

export type TrustedIssuerRow = RowOf<typeof TRUSTED_ISSUER>;

// The table of applications.
import {
  boolean,
  defineTable,
  given,
  json,
  nullable,
  type RowOf,
  TENANT_ROW,
  text,
  texts,
  time,
  uuid,
} from '../../platform/database/table.ts';
import type { ApplicationJwks } from './application-jwks.ts';

export const APPLICATION = defineTable('applications', {
  ...TENANT_ROW,
  name: text(),
  audience: nullable(text()),
  scopes: texts(),
  grantTypes: texts(),
  agentId: nullable(uuid()),
  updatedAt: given(time()),
  deletedAt: nullable(time()),
  jwks: nullable(json<ApplicationJwks>()),
  dpopBoundAccessTokens: given(boolean()),
  /** The scopes that the application had before its scopes were changed. */
  hadScopes: given(texts()),
});

export type ApplicationRow = RowOf<typeof APPLICATION>;

// The table of issuer keys.
import type { SigningAlgorithm } from '../../platform/context.ts';
import {
  bytes,
  defineTable,
  given,
  json,
  nullable,
  primaryKey,
  type RowOf,
  text,
  time,
  uuid,
} from '../../platform/database/table.ts';
import type { IssuerJwk } from './issuer-key.ts';

export const ISSUER_KEY = defineTable('issuer_keys', {
  kid: primaryKey(text()),
  tenantId: uuid(),
  algorithm: text<SigningAlgorithm>(),
  publicJwk: json<IssuerJwk>(),
  /** PKCS #8 DER, sealed with a master key; null after the private half was destroyed. */
  privateSealed: nullable(bytes()),
  createdAt: given(time()),
  activateAt: time(),
  /** `retireAt` and `removeAt` are null until a later key is published. */
  retireAt: nullable(time()),
  removeAt: nullable(time()),
  id: uuid(),
  revokedAt: nullable(time()),
});

export type IssuerKeyRow = RowOf<typeof ISSUER_KEY>;

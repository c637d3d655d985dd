// The tables of issuer keys: those of access tokens, and those of security event tokens, with the same columns.
import {
  bytes,
  defineTable,
  given,
  json,
  nullable,
  primaryKey,
  type RowOf,
  sealed,
  text,
  time,
  uuid,
} from '../../platform/database/table.ts';
import type { IssuerAlgorithm, IssuerJwk } from './issuer-key.ts';

const COLUMNS = {
  kid: primaryKey(text()),
  tenantId: uuid(),
  algorithm: text<IssuerAlgorithm>(),
  publicJwk: json<IssuerJwk>(),
  /** PKCS #8 DER, sealed with a master key; null after the private half was destroyed. */
  privateSealed: nullable(sealed(bytes())),
  createdAt: given(time()),
  activateAt: time(),
  /** `retireAt` and `removeAt` are null until a later key is published. */
  retireAt: nullable(time()),
  removeAt: nullable(time()),
  id: uuid(),
  revokedAt: nullable(time()),
};

export const ISSUER_KEY = defineTable('issuer_keys', {
  ...COLUMNS,
  /** The key that signs deliveries while this one is active. */
  deliveryJwk: nullable(json<IssuerJwk>()),
  /** PKCS #8 DER, sealed with a master key. */
  deliverySealed: nullable(sealed(bytes())),
});
export const EVENT_KEY = defineTable('event_keys', COLUMNS);

export type IssuerKeyRow = RowOf<typeof ISSUER_KEY>;

// The table of tenants. The slug of a row never changes.
import type { SecurityProfile, SigningAlgorithm } from '../../platform/context.ts';
import {
  defineTable,
  given,
  integer,
  type NewRowOf,
  nullable,
  primaryKey,
  type RowOf,
  text,
  time,
  uuid,
} from '../../platform/database/table.ts';

export const TENANT = defineTable('tenants', {
  id: primaryKey(uuid()),
  slug: text(),
  name: text(),
  /** Null when the audience is `baseUrl`. */
  audience: nullable(text()),
  signingAlgorithm: given(text<SigningAlgorithm>()),
  baseUrl: text(),
  issuerUrl: text(),
  createdAt: given(time()),
  updatedAt: given(time()),
  suspendedAt: nullable(time()),
  resumedAt: nullable(time()),
  securityProfile: given(text<SecurityProfile | 'none'>()),
  deliveriesDays: nullable(integer()),
  eventsDays: nullable(integer()),
  auditAddressesDays: nullable(integer()),
  eventsGoneBefore: nullable(time()),
  addressesGone: nullable(uuid()),
  subscriptionLimit: nullable(integer()),
});

export type TenantRow = RowOf<typeof TENANT>;
export type NewTenantRow = NewRowOf<typeof TENANT>;

// Schemas of tenants in requests and answers. A tenant cannot change its slug or its address.
import { z } from 'zod';
import { audience, displayName } from '../../platform/http/field-schemas.ts';
import { present } from '../../platform/http/present.ts';
import { SECURITY_PROFILES, SIGNING_ALGORITHMS, type TenantRecord } from './tenant.ts';
import { daysOf, type RetentionBounds } from './tenant-retention.ts';

const DELIVERIES = 'Whole UTC days after which ended deliveries go, with their attempts and receipts';
const EVENTS = 'Whole UTC days after which events go; at least `deliveries_days`';
const ADDRESSES = 'Days after which the addresses of clients go from the audit log';

const bound = z
  .strictObject({ least: z.int(), most: z.int().nullable() })
  .describe('`most` holds for a tenant that has set nothing; null: no bound');

const days = z.int().max(36_500).nullable().optional();

export const tenantSchema = z
  .strictObject({
    id: z.uuid(),
    slug: z.string(),
    name: z.string(),
    audience: z.string().describe("Audience of this tenant's tokens unless an agent names its own"),
    signing_algorithm: z.enum(SIGNING_ALGORITHMS),
    security_profile: z.enum(SECURITY_PROFILES),
    retention: z.strictObject({
      deliveries_days: z.int().describe(DELIVERIES),
      events_days: z.int().describe(EVENTS),
      audit_addresses_days: z.int().nullable().describe(`${ADDRESSES}; null: as long as the log`),
    }),
    retention_bounds: z.strictObject({
      deliveries_days: bound,
      events_days: bound,
      audit_addresses_days: bound,
    }),
    subscription_limit: z.int().describe('The most subscriptions, streams among them; set by the operator'),
    base_url: z.string(),
    issuer_url: z.string(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'Tenant' });

export const tenantPatchSchema = z
  .strictObject({
    name: displayName.optional(),
    audience: audience.nullable().optional().describe('null: the base URL'),
    signing_algorithm: z
      .enum(SIGNING_ALGORITHMS)
      .optional()
      .describe(
        'A new algorithm signs 10 minutes after its key is published, so that no verifier meets an unknown key',
      ),
    security_profile: z
      .enum(SECURITY_PROFILES)
      .optional()
      .describe(
        'fapi2: every token is bound to a key by DPoP, and applications authenticate with `private_key_jwt` only; earlier tokens without a key are refused. It needs an application with a key and the scope `tenant:write`',
      ),
    retention: z
      .strictObject({ deliveries_days: days, events_days: days, audit_addresses_days: days })
      .optional()
      .describe('Days within `retention_bounds`; null: what holds without a setting'),
  })
  .meta({ id: 'TenantPatch' });

/** Converts a stored tenant to its JSON answer. @param operator what holds where the tenant has no setting */
export function presentTenant(
  tenant: TenantRecord,
  operator: { readonly retention: RetentionBounds; readonly subscriptionLimit: number },
) {
  const { retention: retentionBounds } = operator;
  const subscriptionLimit = tenant.subscriptionLimit ?? operator.subscriptionLimit;
  return present(
    tenantSchema,
    { ...tenant, subscriptionLimit, retentionBounds, retention: daysOf(tenant, retentionBounds) },
    { audience: tenant.audience ?? tenant.baseUrl },
  );
}

// Types of tenants, and the rules for slugs and addresses.
import type { SecurityProfile, SigningAlgorithm, Tenant } from '../../platform/context.ts';
import type { TenantRow } from './tenant.model.ts';

export type TenantRecord = TenantRow;

/** A tenant that a request needs. `fansOut` as in `Tenant`. */
export type FoundTenant = TenantRecord & { readonly fansOut: boolean };

/** The settings `PUBLIC_URL`, `DEFAULT_TENANT` and `TENANT_URL`. */
export type AddressRules = {
  readonly publicUrl: string;
  readonly defaultTenant?: string | undefined;
  /** Address of all other tenants; `{tenant}` is replaced by the slug. */
  readonly tenantUrl: string;
};

export type TenantAddress = { readonly baseUrl: string; readonly issuerUrl: string };

/** A tenant whose stored address differs from the address in the settings. */
export type AddressMismatch = {
  readonly slug: string;
  readonly storedUrl: string;
  readonly configuredUrl: string;
};

const SLUG = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Returns whether the text is a DNS label in lower case (RFC 1123 §2.1), so that it can be part of a host name. */
export function isSlug(text: string): boolean {
  return SLUG.test(text);
}

/** Returns the address of a tenant, for its API and its issuer, without a slash at the end. */
export function addressOf(slug: string, rules: AddressRules): TenantAddress {
  const url = slug === rules.defaultTenant ? rules.publicUrl : rules.tenantUrl.replaceAll('{tenant}', slug);
  return { baseUrl: url, issuerUrl: url };
}

/** Returns the tenants whose stored address differs from the address in the settings. */
export function findMismatches(
  tenants: readonly Pick<TenantRecord, 'slug' | 'baseUrl' | 'issuerUrl'>[],
  rules: AddressRules,
): AddressMismatch[] {
  return tenants.flatMap(({ slug, baseUrl, issuerUrl }) => {
    const configured = addressOf(slug, rules);
    const isSame = configured.baseUrl === baseUrl && configured.issuerUrl === issuerUrl;
    return isSame ? [] : [{ slug, storedUrl: baseUrl, configuredUrl: configured.baseUrl }];
  });
}

/** Orders moves so that a tenant leaves an address before another tenant gets it. Swaps keep their order. */
export function orderMoves(moves: readonly AddressMismatch[]): AddressMismatch[] {
  const left = [...moves];
  const ordered: AddressMismatch[] = [];
  while (left.length > 0) {
    const isFree = ({ configuredUrl }: AddressMismatch) =>
      left.every(({ storedUrl }) => storedUrl !== configuredUrl);
    ordered.push(...left.splice(Math.max(0, left.findIndex(isFree)), 1));
  }
  return ordered;
}

/** Converts a stored tenant to the tenant of a request, with its audience resolved. */
export function toTenant(record: TenantRecord & Partial<FoundTenant>): Tenant {
  const { id, slug, name, signingAlgorithm, baseUrl, issuerUrl } = record;
  const tenant = {
    id,
    slug,
    name,
    signingAlgorithm,
    baseUrl,
    issuerUrl,
    audience: record.audience ?? baseUrl,
    ...(record.securityProfile === 'none' ? {} : { securityProfile: record.securityProfile }),
    ...(record.resumedAt === null ? {} : { resumedAt: record.resumedAt }),
    ...(record.eventsDays === null ? {} : { eventsDays: record.eventsDays }),
    ...(record.eventsGoneBefore === null ? {} : { eventsGoneBefore: record.eventsGoneBefore }),
    ...(record.subscriptionLimit === null ? {} : { subscriptionLimit: record.subscriptionLimit }),
    ...(record.fansOut === true ? { fansOut: true as const } : {}),
  };
  return record.suspendedAt === null ? tenant : { ...tenant, suspended: true };
}

/** Algorithms that a tenant can choose for its issuer keys. */
export const SIGNING_ALGORITHMS = ['ES256', 'EdDSA'] as const satisfies readonly SigningAlgorithm[];

export const SECURITY_PROFILES = ['none', 'fapi2'] as const satisfies readonly (SecurityProfile | 'none')[];

// What a tenant is, which slugs are valid, and which address each slug has. Pure.
import type { SigningAlgorithm, Tenant } from '../../platform/context.ts';
import type { TenantRow } from './tenant.model.ts';

/** A tenant as it is stored. */
export type TenantRecord = TenantRow;

/** The addresses of tenants: settings `PUBLIC_URL`, `DEFAULT_TENANT` and `TENANT_URL`. */
export type AddressRules = {
  /** Origin of the default tenant. */
  readonly publicUrl: string;
  readonly defaultTenant?: string | undefined;
  /** Address of all other tenants; `{tenant}` is replaced by the slug. */
  readonly tenantUrl: string;
};

export type TenantAddress = { readonly baseUrl: string; readonly issuerUrl: string };

/** A tenant whose stored address differs from that of the settings. */
export type AddressMismatch = {
  readonly slug: string;
  readonly storedUrl: string;
  readonly configuredUrl: string;
};

const SLUG = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Whether the text is a DNS label in lower case (RFC 1123 §2.1), so that a slug can be part of a host name. */
export function isSlug(text: string): boolean {
  return SLUG.test(text);
}

/** The one canonical address of a tenant, for API and issuer, without a slash at its end. */
export function addressOf(slug: string, rules: AddressRules): TenantAddress {
  const url = slug === rules.defaultTenant ? rules.publicUrl : rules.tenantUrl.replaceAll('{tenant}', slug);
  return { baseUrl: url, issuerUrl: url };
}

/** The tenants among these whose stored address differs from the configured one. */
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

/**
 * Orders moves so that an address is left before another tenant moves to it. Tenants that swap addresses keep their
 * order.
 */
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

/** The tenant as requests see it: its audience resolved. */
export function toTenant(record: TenantRecord): Tenant {
  const { id, slug, name, signingAlgorithm, baseUrl, issuerUrl } = record;
  const tenant = {
    id,
    slug,
    name,
    signingAlgorithm,
    baseUrl,
    issuerUrl,
    audience: record.audience ?? baseUrl,
    ...(record.resumedAt === null ? {} : { resumedAt: record.resumedAt }),
  };
  return record.suspendedAt === null ? tenant : { ...tenant, suspended: true };
}

/** Algorithms that a tenant can choose for its issuer keys. */
export const SIGNING_ALGORITHMS = ['ES256', 'EdDSA'] as const satisfies readonly SigningAlgorithm[];

// Tenants, applications, issuer and tokens wired for real over one database; only the clock and the relay's notifier are fakes.
import { randomBytes } from 'node:crypto';
import pino from 'pino';
import { createApplicationService } from '../../src/applications/application.service.ts';
import { createApplicationStore } from '../../src/applications/application.store.ts';
import { createSecretStore } from '../../src/applications/secret.store.ts';
import { createAuditService } from '../../src/audit/audit.service.ts';
import { createAuditStore } from '../../src/audit/audit.store.ts';
import type { RequestContext, Tenant } from '../../src/context.ts';
import type { Database } from '../../src/database/database.ts';
import { newId } from '../../src/database/ids.ts';
import { createEventService } from '../../src/events/event.service.ts';
import { createEventStore } from '../../src/events/event.store.ts';
import { createFailureLimiter } from '../../src/http/failure-limiter.ts';
import { createIssuerService } from '../../src/issuer/issuer.service.ts';
import { createIssuerStore } from '../../src/issuer/issuer.store.ts';
import { createProvisionService } from '../../src/tenants/provision.service.ts';
import { createTenantService } from '../../src/tenants/tenant.service.ts';
import { createTenantStore } from '../../src/tenants/tenant.store.ts';
import type { AddressRules } from '../../src/tenants/tenant.ts';
import { createClientCredentialsService } from '../../src/tokens/client-credentials.service.ts';
import { createRefreshTokenStore } from '../../src/tokens/refresh-token.store.ts';
import { createTokenService } from '../../src/tokens/token.service.ts';

const ADDRESSES: AddressRules = {
  publicUrl: 'http://localhost:8080',
  defaultTenant: 'demo',
  tenantUrl: 'http://localhost:8080/t/{tenant}',
};

export type Accounts = ReturnType<typeof createAccounts>;

/** Wires the rooms. @param options.clientFailures wrong secrets allowed a minute; 0 turns the limit off */
export function createAccounts(
  database: Database,
  options: { addresses?: AddressRules; now?: () => number; clientFailures?: number } = {},
) {
  const audit = createAuditService({ store: createAuditStore() });
  const issuer = createIssuerService({
    store: createIssuerStore({ database }),
    masterKeys: [{ id: 'test', key: randomBytes(32) }],
  });
  const tenants = createTenantService({
    database,
    store: createTenantStore(database),
    issuer,
    audit,
    addresses: options.addresses ?? ADDRESSES,
  });
  const applications = createApplicationService({
    database,
    store: createApplicationStore({ database, sequelize: database.sequelize }),
    secrets: createSecretStore({ database }),
    audit,
  });
  const tokens = createTokenService({
    issuer,
    refreshTokens: createRefreshTokenStore(),
    accessTokenLifetime: 300,
    refreshTokenLifetime: 3_600,
    now: options.now,
  });
  const clientCredentials = createClientCredentialsService({
    database,
    applications,
    tokens,
    audit,
    events: createEventService({ store: createEventStore(), notifier: { poke: () => undefined } }),
    failures: createFailureLimiter({
      pool: database.pool,
      points: options.clientFailures ?? 0,
      seconds: 60,
      prefix: 'client',
      logger: pino({ level: 'silent' }),
    }),
    onError: (error) => {
      throw error;
    },
  });
  const provisioning = createProvisionService({ database, tenants, applications });
  return { database, audit, issuer, tenants, applications, tokens, clientCredentials, provisioning };
}

/** A request to this tenant, from an address of its own unless told. */
export function requestTo(tenant: Tenant, address = '192.0.2.7'): RequestContext {
  return { requestId: newId(), tenant, address };
}

/** The `Authorization` header of HTTP Basic, both parts form-encoded (RFC 6749 §2.3.1). */
export function basic(clientId: string, clientSecret: string): string {
  const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1);
  return `Basic ${Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString('base64')}`;
}

/** A tenant with a first application, and the tenant as requests see it. */
export async function provisionTenant({ provisioning, tenants }: Accounts, slug: string) {
  const credentials = await provisioning.provision({ slug });
  const tenant = await tenants.bySlug(slug);
  if (tenant === undefined) throw new Error(`the tenant ${slug} was not made`);
  return { tenant, credentials, authorization: basic(credentials.client_id, credentials.client_secret) };
}

/** Inserts an agent. @returns its id */
export async function insertAgent(
  database: Database,
  tenantId: string,
  scopes: readonly string[],
): Promise<string> {
  const id = newId();
  await database.query(
    "INSERT INTO agents (id, tenant_id, name, capabilities, scopes) VALUES ($1, $2, 'Robot', '{web,mcp}', $3)",
    [id, tenantId, scopes],
  );
  return id;
}

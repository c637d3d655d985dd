// Tenants, applications, issuer and tokens wired for real over one database; only the clock and the relay's notifier
// are fakes.

import { randomBytes } from 'node:crypto';
import { AccessRecordService } from '../../../src/audit/access-record.service.ts';
import { wireAuthenticationFailures } from '../../../src/authentication/challenges/wire.ts';
import { DpopService } from '../../../src/authentication/dpop/dpop.service.ts';
import { IssuerRotationService } from '../../../src/authentication/issuer/issuer-rotation.service.ts';
import { wireIssuers } from '../../../src/authentication/issuer/wire.ts';
import { IntrospectionService } from '../../../src/authentication/tokens/introspection.service.ts';
import { TokenService } from '../../../src/authentication/tokens/token.service.ts';
import { wireClients, wireRevocations, wireTokenEndpoint } from '../../../src/authentication/tokens/wire.ts';
import { UserService } from '../../../src/authentication/users/user.service.ts';
import { ApplicationService } from '../../../src/identity/applications/application.service.ts';
import { ProvisionService } from '../../../src/identity/tenants/provision.service.ts';
import { TenantService } from '../../../src/identity/tenants/tenant.service.ts';
import type { AddressRules } from '../../../src/identity/tenants/tenant.ts';
import { boundsOf } from '../../../src/identity/tenants/tenant-retention.ts';
import type { RequestContext, Tenant } from '../../../src/platform/context.ts';
import type { Database } from '../../../src/platform/database/database.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { wireLimits } from '../../../src/platform/http/wire.ts';
import { WorkflowCommandService } from '../../../src/platform/temporal/workflow-command.service.ts';
import { wireRecords } from '../../../src/webhooks/intake/wire.ts';
import { createTestPlatform, type TestConfig } from '../../setup/platform.ts';

export type Accounts = ReturnType<typeof createAccounts>;

/**
 * Wires the rooms.
 * @param options settings, and: failures allowed a minute (0 turns a limit off), clocks in milliseconds
 */
export function createAccounts(
  database: Database,
  {
    addresses,
    now = () => Date.now(),
    monotonic = () => performance.now(),
    clientFailures = 0,
    refreshFailures = 0,
    ...config
  }: TestConfig & {
    addresses?: AddressRules;
    now?: (() => number) | undefined;
    monotonic?: () => number;
    clientFailures?: number;
    refreshFailures?: number;
  } = {},
) {
  const platform = createTestPlatform(database, {
    config: {
      masterKeys: [{ id: 'test', key: randomBytes(32) }],
      ...config,
      ...addresses,
      rateLimit: { clientFailures, fingerprintFailures: refreshFailures },
    },
    clock: { now, monotonic },
  });
  const limits = wireLimits(platform);
  const records = wireRecords(platform);
  const commands = new WorkflowCommandService();
  const { masterKeys } = platform.config;
  const users = new UserService({ database, masterKeys });
  const shared = { database, records, commands, users, accesses: new AccessRecordService(platform) };
  const revocations = wireRevocations(platform);
  const issuers = wireIssuers(platform, { ...shared, revocations });
  const tokens = new TokenService({ ...platform.config, ...issuers, revocations, now });
  const tenants = new TenantService({
    ...shared,
    ...issuers,
    addresses: platform.config,
    retention: boundsOf(platform.config),
    subscriptionLimit: platform.config.subscriptionLimit,
  });
  const applications = new ApplicationService({ ...shared, tokens: revocations });
  const dpop = new DpopService({ database, masterKeys, now });
  const failures = wireAuthenticationFailures(platform, { ...shared, limits });
  const { clients, clientRecords } = wireClients(platform, { ...shared, applications, limits });
  const accounts = { ...shared, tokens, revocations, clients, clientRecords, dpop, failures };
  return {
    ...accounts,
    ...issuers,
    platform,
    issuerRotation: new IssuerRotationService({ ...issuers, database, tenants }),
    tenants,
    applications,
    tokenEndpoint: wireTokenEndpoint(platform, accounts),
    introspection: new IntrospectionService(accounts),
    provisioning: new ProvisionService({ database, tenants, applications }),
    masterKeys,
  };
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

// Tenants, applications, issuer and tokens wired for real over one database; only the clock and the relay's notifier are fakes.

import { randomBytes } from 'node:crypto';
import pino from 'pino';
import { createAuditService } from '../../../src/audit/audit.service.ts';
import { createBruteForceService } from '../../../src/audit/brute-force.service.ts';
import { createAuthenticationFailureService } from '../../../src/authentication/challenges/authentication-failure.service.ts';
import { createDpopService } from '../../../src/authentication/dpop/dpop.service.ts';
import { createProofVerifier } from '../../../src/authentication/dpop/dpop-proof.service.ts';
import { createIssuerService } from '../../../src/authentication/issuer/issuer.service.ts';
import { createIssuerKeyService } from '../../../src/authentication/issuer/issuer-key.service.ts';
import { createIssuerRotationService } from '../../../src/authentication/issuer/issuer-rotation.service.ts';
import { createClientAssertionService } from '../../../src/authentication/tokens/client-assertion.service.ts';
import { createClientAuthenticationService } from '../../../src/authentication/tokens/client-authentication.service.ts';
import { createClientCredentialsService } from '../../../src/authentication/tokens/client-credentials.service.ts';
import { CLIENT_CREDENTIALS } from '../../../src/authentication/tokens/client-credentials.ts';
import { createClientRecordService } from '../../../src/authentication/tokens/client-record.service.ts';
import { createIntrospectionService } from '../../../src/authentication/tokens/introspection.service.ts';
import { createRefreshService } from '../../../src/authentication/tokens/refresh.service.ts';
import { createSuccessorDeriver } from '../../../src/authentication/tokens/refresh-successor.node.ts';
import { REFRESH_TOKEN } from '../../../src/authentication/tokens/refresh-token.ts';
import { createRevocationService } from '../../../src/authentication/tokens/revocation.service.ts';
import { createTokenService } from '../../../src/authentication/tokens/token.service.ts';
import type { Grant } from '../../../src/authentication/tokens/token-answer.ts';
import { createTokenEndpointService } from '../../../src/authentication/tokens/token-endpoint.service.ts';
import { createEventService } from '../../../src/events/event.service.ts';
import { createApplicationService } from '../../../src/identity/applications/application.service.ts';
import { createProvisionService } from '../../../src/identity/tenants/provision.service.ts';
import { createTenantService } from '../../../src/identity/tenants/tenant.service.ts';
import type { AddressRules } from '../../../src/identity/tenants/tenant.ts';
import type { RequestContext, Tenant } from '../../../src/platform/context.ts';
import type { MasterKey } from '../../../src/platform/crypto/secret-box.node.ts';
import type { Database } from '../../../src/platform/database/database.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { createFailureLimiter } from '../../../src/platform/http/failure-limiter.ts';
import { createWorkflowCommandService } from '../../../src/platform/temporal/workflow-command.service.ts';

const ADDRESSES: AddressRules = {
  publicUrl: 'http://localhost:8080',
  defaultTenant: 'demo',
  tenantUrl: 'http://localhost:8080/t/{tenant}',
};

export type Accounts = ReturnType<typeof createAccounts>;

/** Wires the rooms. @param options.clientFailures wrong secrets allowed a minute; 0 turns the limit off */
export function createAccounts(
  database: Database,
  options: {
    addresses?: AddressRules;
    now?: () => number;
    clientFailures?: number;
    refreshFailures?: number;
    masterKeys?: MasterKey[];
    /** Milliseconds, for the age of what was read. */
    monotonic?: () => number;
    /** Seconds. */
    issuerKeyLifetime?: number;
    accessTokenLifetime?: number;
  } = {},
) {
  const audit = createAuditService();
  const masterKeys = options.masterKeys ?? [{ id: 'test', key: randomBytes(32) }];
  const revocations = createRevocationService({ database });
  const events = createEventService({
    notifier: { poke: () => undefined },
    checked: true,
  });
  const issuer = createIssuerService({
    database,
    masterKeys,
    revocations,
    now: options.monotonic,
  });

  const issuerKeys = createIssuerKeyService({
    database,
    masterKeys,
    issuer,
    revocations,
    audit,
    events,
    commands: createWorkflowCommandService(),
    lifetime: options.issuerKeyLifetime ?? 7_776_000,
  });
  const tenants = createTenantService({
    database,
    issuerKeys,
    audit,
    addresses: options.addresses ?? ADDRESSES,
  });
  const issuerRotation = createIssuerRotationService({ database, tenants, issuerKeys });
  const applications = createApplicationService({
    database,
    audit,
    tokens: revocations,
  });
  const tokens = createTokenService({
    issuer,
    revocations,
    accessTokenLifetime: options.accessTokenLifetime ?? 300,
    refreshTokenLifetime: 3_600,
    now: options.now,
  });
  const onError = (error: unknown) => {
    throw error;
  };
  const clientRecords = createClientRecordService({ database, audit, events, onError });
  const clientAssertions = createClientAssertionService({
    database,
    onError,
    now: options.now,
  });
  const clients = createClientAuthenticationService({
    applications,
    assertions: clientAssertions,
    records: clientRecords,
    bruteForce: createBruteForceService({ database }),
    failures: createFailureLimiter({
      pool: database.pool,
      points: options.clientFailures ?? 0,
      seconds: 60,
      prefix: 'client',
      logger: pino({ level: 'silent' }),
    }),
  });
  const clientCredentials = createClientCredentialsService({ clients, tokens, records: clientRecords });

  const refresh = createRefreshService({
    database,
    successors: createSuccessorDeriver({ masterKeys }),
    tokens,
    audit,
    events,
    failures: createAuthenticationFailureService({
      database,
      audit,
      events,
      limiter: createFailureLimiter({
        pool: database.pool,
        points: options.refreshFailures ?? 0,
        seconds: 60,
        prefix: 'fingerprint',
        logger: pino({ level: 'silent' }),
      }),
      bruteForce: createBruteForceService({ database }),
    }),
  });
  const dpop = createDpopService({
    database,
    verifier: createProofVerifier(),
    masterKeys,
    onError,
    now: options.now,
  });
  const grants = new Map<string, Grant>([
    [CLIENT_CREDENTIALS, clientCredentials.grant],
    [REFRESH_TOKEN, refresh.grant],
  ]);
  const tokenEndpoint = createTokenEndpointService({ grants, dpop });
  const introspection = createIntrospectionService({
    database,
    clients,
    tokens,
    revocations,
    audit,
    events,
  });
  const provisioning = createProvisionService({ database, tenants, applications });
  return {
    database,
    audit,
    events,
    issuer,
    issuerKeys,
    issuerRotation,
    tenants,
    applications,
    revocations,
    tokens,
    clients,
    clientRecords,
    dpop,
    /** What the token endpoint knows; a room may add its own. */
    grants,
    tokenEndpoint,
    introspection,
    provisioning,
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

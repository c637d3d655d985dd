// Tenants, applications, issuer and tokens wired for real over one database; only the clock and the relay's notifier are fakes.
import { randomBytes } from 'node:crypto';
import pino from 'pino';
import { createApplicationService } from '../../src/applications/application.service.ts';
import { createApplicationStore } from '../../src/applications/application.store.ts';
import { createSecretStore } from '../../src/applications/secret.store.ts';
import { createAuditService } from '../../src/audit/audit.service.ts';
import { createAuditStore } from '../../src/audit/audit.store.ts';
import { createBruteForceService } from '../../src/audit/brute-force.service.ts';
import { createBruteForceStore } from '../../src/audit/brute-force.store.ts';
import { createAuthenticationFailureService } from '../../src/challenges/authentication-failure.service.ts';
import { createAuthenticationFailureStore } from '../../src/challenges/authentication-failure.store.ts';
import type { RequestContext, Tenant } from '../../src/context.ts';
import type { MasterKey } from '../../src/crypto/secret-box.node.ts';
import type { Database } from '../../src/database/database.ts';
import { newId } from '../../src/database/ids.ts';
import { createDpopService } from '../../src/dpop/dpop.service.ts';
import { createDpopStore } from '../../src/dpop/dpop.store.ts';
import { createProofVerifier } from '../../src/dpop/dpop-proof.verifier.ts';
import { createEventService } from '../../src/events/event.service.ts';
import { createEventStore } from '../../src/events/event.store.ts';
import { createFailureLimiter } from '../../src/http/failure-limiter.ts';
import { createIssuerService } from '../../src/issuer/issuer.service.ts';
import { createIssuerStore } from '../../src/issuer/issuer.store.ts';
import { createIssuerKeyService } from '../../src/issuer/issuer-key.service.ts';
import { createIssuerRotationService } from '../../src/issuer/issuer-rotation.service.ts';
import { createKeyScheduleStore } from '../../src/issuer/key-schedule.store.ts';
import { createWorkflowCommandService } from '../../src/temporal/workflow-command.service.ts';
import { createWorkflowCommandStore } from '../../src/temporal/workflow-command.store.ts';
import { createProvisionService } from '../../src/tenants/provision.service.ts';
import { createTenantService } from '../../src/tenants/tenant.service.ts';
import { createTenantStore } from '../../src/tenants/tenant.store.ts';
import type { AddressRules } from '../../src/tenants/tenant.ts';
import { createClientAssertionService } from '../../src/tokens/client-assertion.service.ts';
import { createClientAssertionStore } from '../../src/tokens/client-assertion.store.ts';
import { createClientAuthenticationService } from '../../src/tokens/client-authentication.service.ts';
import { createClientCredentialsService } from '../../src/tokens/client-credentials.service.ts';
import { CLIENT_CREDENTIALS } from '../../src/tokens/client-credentials.ts';
import { createClientRecordService } from '../../src/tokens/client-record.service.ts';
import { createIntrospectionService } from '../../src/tokens/introspection.service.ts';
import { createRefreshService } from '../../src/tokens/refresh.service.ts';
import { createRefreshRotationStore } from '../../src/tokens/refresh-rotation.store.ts';
import { createSuccessorDeriver } from '../../src/tokens/refresh-successor.deriver.ts';
import { createRefreshTokenStore } from '../../src/tokens/refresh-token.store.ts';
import { REFRESH_TOKEN } from '../../src/tokens/refresh-token.ts';
import { createRevocationService } from '../../src/tokens/revocation.service.ts';
import { createRevocationStore } from '../../src/tokens/revocation.store.ts';
import { createTokenService } from '../../src/tokens/token.service.ts';
import type { Grant } from '../../src/tokens/token-answer.ts';
import { createTokenEndpointService } from '../../src/tokens/token-endpoint.service.ts';

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
  const audit = createAuditService({ store: createAuditStore() });
  const masterKeys = options.masterKeys ?? [{ id: 'test', key: randomBytes(32) }];
  const revocations = createRevocationService({ store: createRevocationStore(), database });
  const events = createEventService({
    store: createEventStore(),
    notifier: { poke: () => undefined },
    checked: true,
  });
  const issuer = createIssuerService({
    store: createIssuerStore({ database }),
    masterKeys,
    revocations,
    now: options.monotonic,
  });
  const scheduleStore = createKeyScheduleStore();
  const issuerKeys = createIssuerKeyService({
    store: scheduleStore,
    database,
    masterKeys,
    issuer,
    revocations,
    audit,
    events,
    commands: createWorkflowCommandService({ store: createWorkflowCommandStore() }),
    lifetime: options.issuerKeyLifetime ?? 7_776_000,
  });
  const tenants = createTenantService({
    database,
    store: createTenantStore(database),
    issuerKeys,
    audit,
    addresses: options.addresses ?? ADDRESSES,
  });
  const issuerRotation = createIssuerRotationService({ store: scheduleStore, database, tenants, issuerKeys });
  const applications = createApplicationService({
    database,
    store: createApplicationStore({ database, sequelize: database.sequelize }),
    secrets: createSecretStore({ database }),
    audit,
    tokens: revocations,
  });
  const tokens = createTokenService({
    issuer,
    refreshTokens: createRefreshTokenStore(),
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
    store: createClientAssertionStore(),
    database,
    onError,
    now: options.now,
  });
  const clients = createClientAuthenticationService({
    applications,
    assertions: clientAssertions,
    records: clientRecords,
    bruteForce: createBruteForceService({ store: createBruteForceStore(), database }),
    failures: createFailureLimiter({
      pool: database.pool,
      points: options.clientFailures ?? 0,
      seconds: 60,
      prefix: 'client',
      logger: pino({ level: 'silent' }),
    }),
  });
  const clientCredentials = createClientCredentialsService({ clients, tokens, records: clientRecords });
  const refreshTokens = createRefreshRotationStore();
  const refresh = createRefreshService({
    store: refreshTokens,
    database,
    successors: createSuccessorDeriver({ masterKeys }),
    tokens,
    audit,
    events,
    failures: createAuthenticationFailureService({
      store: createAuthenticationFailureStore(),
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
      bruteForce: createBruteForceService({ store: createBruteForceStore(), database }),
    }),
  });
  const dpop = createDpopService({
    store: createDpopStore(),
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
    refreshTokens,
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

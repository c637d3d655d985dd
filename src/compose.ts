// The one place where everything is wired: settings → database → stores → services → routes. It must hold no rule of its own.
import type { Logger } from 'pino';
import { createAgentRoutes } from './agents/agent.routes.ts';
import { createAgentService } from './agents/agent.service.ts';
import { createAgentStore } from './agents/agent.store.ts';
import { createApplicationRoutes } from './applications/application.routes.ts';
import { createApplicationService } from './applications/application.service.ts';
import { createApplicationStore } from './applications/application.store.ts';
import { createSecretStore } from './applications/secret.store.ts';
import { createAuditRoutes } from './audit/audit.routes.ts';
import { createAuditService } from './audit/audit.service.ts';
import { createAuditStore } from './audit/audit.store.ts';
import { createAuditReadingService } from './audit/audit-reading.service.ts';
import { createAuditReadingStore } from './audit/audit-reading.store.ts';
import { createAuditVerificationService } from './audit/audit-verification.service.ts';
import { createCheckpointStore } from './audit/checkpoint.store.ts';
import { createVerificationStore } from './audit/verification.store.ts';
import { createAuthenticationFailureService } from './challenges/authentication-failure.service.ts';
import { createAuthenticationFailureStore } from './challenges/authentication-failure.store.ts';
import { createChallengeRoutes } from './challenges/challenge.routes.ts';
import { createChallengeService } from './challenges/challenge.service.ts';
import { createChallengeStore } from './challenges/challenge.store.ts';
import { type Config, databaseMissing, loadConfig } from './config.ts';
import { createSignatureVerifier } from './crypto/verify-signature.node.ts';
import { createDatabase } from './database/database.ts';
import { createDelegationRoutes } from './delegations/delegation.routes.ts';
import { createDelegationService } from './delegations/delegation.service.ts';
import { createDelegationStore } from './delegations/delegation.store.ts';
import { createDpopService } from './dpop/dpop.service.ts';
import { createDpopStore } from './dpop/dpop.store.ts';
import { createProofVerifier } from './dpop/dpop-proof.verifier.ts';
import { createBacklogGauge } from './events/backlog.gauge.ts';
import { createEventRoutes } from './events/event.routes.ts';
import { createEventService } from './events/event.service.ts';
import { createEventStore } from './events/event.store.ts';
import { createPublishingService } from './events/publishing.service.ts';
import { createFailureLimiter } from './http/failure-limiter.ts';
import { createOpenApi } from './http/openapi.ts';
import { createRateLimiter } from './http/rate-limit.ts';
import type { Route } from './http/route.ts';
import { createIssuerRoutes } from './issuer/issuer.routes.ts';
import { createIssuerService } from './issuer/issuer.service.ts';
import { createIssuerStore } from './issuer/issuer.store.ts';
import { createKeyRoutes } from './keys/key.routes.ts';
import { createKeyService } from './keys/key.service.ts';
import { createKeyStore } from './keys/key.store.ts';
import { createLogger, reasonOf } from './logging.ts';
import { createProvisionService } from './tenants/provision.service.ts';
import { createTenantRoutes } from './tenants/tenant.routes.ts';
import { createTenantService } from './tenants/tenant.service.ts';
import { createTenantStore } from './tenants/tenant.store.ts';
import { createClientAssertionService } from './tokens/client-assertion.service.ts';
import { createClientAssertionStore } from './tokens/client-assertion.store.ts';
import { createClientAuthenticationService } from './tokens/client-authentication.service.ts';
import { createClientCredentialsService } from './tokens/client-credentials.service.ts';
import { CLIENT_CREDENTIALS } from './tokens/client-credentials.ts';
import { createClientRecordService } from './tokens/client-record.service.ts';
import { createIntrospectionRoutes } from './tokens/introspection.routes.ts';
import { createIntrospectionService } from './tokens/introspection.service.ts';
import { createRefreshService } from './tokens/refresh.service.ts';
import { createRefreshRotationStore } from './tokens/refresh-rotation.store.ts';
import { createSuccessorDeriver } from './tokens/refresh-successor.deriver.ts';
import { createRefreshTokenStore } from './tokens/refresh-token.store.ts';
import { REFRESH_TOKEN } from './tokens/refresh-token.ts';
import { createRevocationService, REVOCATION_CHANNEL } from './tokens/revocation.service.ts';
import { createRevocationStore } from './tokens/revocation.store.ts';
import { createTokenRoutes } from './tokens/token.routes.ts';
import { createTokenService } from './tokens/token.service.ts';
import { createTokenEndpointService } from './tokens/token-endpoint.service.ts';
import { createUserinfoRoutes } from './tokens/userinfo.routes.ts';
import { createUserinfoService } from './tokens/userinfo.service.ts';
import { createTrustedIssuerRoutes } from './trusted-issuers/trusted-issuer.routes.ts';
import { createTrustedIssuerService } from './trusted-issuers/trusted-issuer.service.ts';
import { createTrustedIssuerStore } from './trusted-issuers/trusted-issuer.store.ts';
import { createDeliveryRecordStore } from './webhooks/deliveries/delivery.records.store.ts';
import { createDeliveryRoutes } from './webhooks/deliveries/delivery.routes.ts';
import { createDeliveryService } from './webhooks/deliveries/delivery.service.ts';
import { parseNetworks } from './webhooks/egress/address-rules.ts';
import { createLaneService } from './webhooks/lanes/lane.service.ts';
import { createLaneStore } from './webhooks/lanes/lane.store.ts';
import { createOutboxListener } from './webhooks/relay/outbox.listener.ts';
import { createOutboxNotifier } from './webhooks/relay/outbox.notifier.ts';
import { createSubscriptionRoutes } from './webhooks/subscriptions/subscription.routes.ts';
import { createSubscriptionSealing } from './webhooks/subscriptions/subscription.sealing.ts';
import { createSubscriptionService } from './webhooks/subscriptions/subscription.service.ts';
import { createSubscriptionStore } from './webhooks/subscriptions/subscription.store.ts';

/** The window in which wrong credentials are counted, in seconds. */
const FAILURE_WINDOW = 60;

/**
 * Wires what every process needs.
 * @param name shown in pg_stat_activity
 */
export function composeCore(config: Config, { logger, name }: { logger: Logger; name: string }) {
  const url = requireDatabase(config);
  const onError = (error: unknown) =>
    logger.warn({ reason: reasonOf(error) }, 'a database connection broke; another will replace it');
  const database = createDatabase({
    url,
    pool: config.databasePool,
    applicationName: `countersign ${name}`,
    onError,
  });
  const { sequelize } = database;
  const notifier = createOutboxNotifier({ url, onError });
  const { masterKeys } = config;

  const audit = createAuditService({ store: createAuditStore() });
  const eventStore = createEventStore();
  const events = createEventService({ store: eventStore, notifier });
  const issuer = createIssuerService({ store: createIssuerStore({ database }), masterKeys });
  const tenants = createTenantService({
    database,
    store: createTenantStore({ sequelize }),
    issuer,
    audit,
    addresses: config,
  });
  const revocationNotifier = createOutboxNotifier({ url, channel: REVOCATION_CHANNEL, onError });
  const revocations = createRevocationService({
    store: createRevocationStore(),
    database,
    notifier: revocationNotifier,
    listen: (onNotice) =>
      createOutboxListener({ url, channel: REVOCATION_CHANNEL, onWork: onNotice, onError }),
    onError: (error) =>
      logger.warn({ reason: reasonOf(error) }, 'revocations could not be read; each check asks the database'),
  });
  const applications = createApplicationService({
    database,
    store: createApplicationStore({ sequelize, database }),
    secrets: createSecretStore({ database }),
    audit,
    tokens: revocations,
  });
  const lanes = createLaneService({ store: createLaneStore(), notifier });
  const sealing = createSubscriptionSealing({ masterKeys });
  const deliveries = createDeliveryService({
    store: createDeliveryRecordStore(),
    database,
    lanes,
    audit,
    notifier,
  });
  const subscriptions = createSubscriptionService({
    store: createSubscriptionStore({ sequelize }),
    database,
    lanes,
    sealing,
    deliveries,
    audit,
    events,
    admittedNetworks: parseNetworks(config.webhookAllowedNetworks),
  });
  return {
    url,
    database,
    notifier,
    audit,
    events,
    eventStore,
    issuer,
    tenants,
    applications,
    revocations,
    lanes,
    sealing,
    deliveries,
    subscriptions,
    close: async () => {
      await revocations.close();
      await Promise.all([notifier.close(), revocationNotifier.close()]);
      await database.close();
    },
  };
}

export type Core = ReturnType<typeof composeCore>;

/** Wires the management commands. */
export function composeManagement(config: Config, logger: Logger) {
  const core = composeCore(config, { logger, name: 'command' });
  const { database, issuer, tenants, applications, close } = core;
  return {
    issuer,
    tenants,
    applications,
    provisioning: createProvisionService({ database, tenants, applications }),
    auditVerification: createAuditVerificationService({
      database,
      checkpoints: createCheckpointStore(),
      store: createVerificationStore({ database }),
      masterKeys: config.masterKeys,
    }),
    close,
  };
}

/** Wires the HTTP interface: the services behind it and its route table. */
export function composeRoutes(config: Config, core: Core, logger: Logger) {
  const { database, audit, events, eventStore, issuer, tenants, applications, notifier, revocations } = core;
  const onError = (error: unknown) =>
    logger.error({ err: error }, 'a record of what happened could not be written');
  const tokens = createTokenService({
    issuer,
    refreshTokens: createRefreshTokenStore(),
    revocations,
    accessTokenLifetime: config.accessTokenLifetime,
    refreshTokenLifetime: config.refreshTokenLifetime,
  });
  const clientRecords = createClientRecordService({ database, audit, events, onError });
  const clientAssertions = createClientAssertionService({
    store: createClientAssertionStore(),
    database,
    onError,
  });
  const clients = createClientAuthenticationService({
    applications,
    assertions: clientAssertions,
    records: clientRecords,
    failures: limiter(config.rateLimit.clientFailures, 'client'),
  });
  const clientCredentials = createClientCredentialsService({ clients, tokens, records: clientRecords });
  const refreshTokens = createRefreshRotationStore();
  const refresh = createRefreshService({
    store: refreshTokens,
    database,
    successors: createSuccessorDeriver(config),
    tokens,
    audit,
    events,
  });
  const dpop = createDpopService({
    store: createDpopStore(),
    database,
    verifier: createProofVerifier(),
    masterKeys: config.masterKeys,
    onError,
  });
  const tokenEndpoint = createTokenEndpointService({
    grants: new Map([
      [CLIENT_CREDENTIALS, clientCredentials.grant],
      [REFRESH_TOKEN, refresh.grant],
    ]),
    dpop,
  });
  const introspection = createIntrospectionService({
    database,
    clients,
    tokens,
    refreshTokens,
    revocations,
    audit,
    events,
  });
  const verifier = createSignatureVerifier();
  const keyStore = createKeyStore({ sequelize: database.sequelize });
  const agents = createAgentService({
    store: createAgentStore({ sequelize: database.sequelize }),
    database,
    audit,
    events,
    tokens,
    releaseKeys: keyStore.release,
  });
  const keys = createKeyService({ store: keyStore, database, agents, verifier, audit, events, tokens });
  const challenges = createChallengeService({
    store: createChallengeStore(),
    database,
    verifier,
    keys,
    tokens,
    audit,
    events,
    failures: createAuthenticationFailureService({
      store: createAuthenticationFailureStore(),
      database,
      audit,
      events,
      limiter: limiter(config.rateLimit.fingerprintFailures, 'fingerprint'),
    }),
    challengeLifetime: config.challengeLifetime,
  });
  const publishing = createPublishingService({
    database,
    store: eventStore,
    notifier,
    backlog: createBacklogGauge({
      count: (tenantId, atMost) => eventStore.countUnfinished(database, tenantId, atMost),
      limit: config.backlogLimit,
    }),
    limit: createRateLimiter({ name: 'publish', points: config.rateLimit.publish }),
  });
  const auditLogs = createAuditReadingService({
    database,
    store: createAuditReadingStore(),
    checkpoints: createCheckpointStore(),
  });
  const delegations = createDelegationService({
    store: createDelegationStore(),
    database,
    agents,
    audit,
    events,
  });
  const trustedIssuers = createTrustedIssuerService({
    store: createTrustedIssuerStore({ sequelize: database.sequelize }),
    database,
    audit,
    // Other issuers are on the internet: networks inside are admitted for development only.
    admittedNetworks: parseNetworks(config.nodeEnv === 'production' ? [] : config.webhookAllowedNetworks),
  });
  const routes: Route[] = [
    ...createIssuerRoutes({ issuer }),
    ...createTokenRoutes({ tokenEndpoint }),
    ...createIntrospectionRoutes({ introspection }),
    ...createUserinfoRoutes({ userinfo: createUserinfoService({ agents, applications }) }),
    ...createChallengeRoutes({ challenges, dpop }),
    ...createTenantRoutes({ tenants }),
    ...createApplicationRoutes({ applications }),
    ...createAgentRoutes({ agents }),
    ...createKeyRoutes({ keys }),
    ...createAuditRoutes({ auditLogs }),
    ...createDelegationRoutes({ delegations }),
    ...createTrustedIssuerRoutes({ trustedIssuers }),
    ...createEventRoutes({ publishing }),
    ...createSubscriptionRoutes({ subscriptions: core.subscriptions }),
    ...createDeliveryRoutes({ deliveries: core.deliveries, workflows: config.temporal }),
  ];
  return {
    routes,
    tokens,
    dpop,
    /** To be called before the database closes: failures that were counted are written now. */
    close: async () => {
      await Promise.allSettled([
        clientRecords.close(),
        clientAssertions.close(),
        dpop.close(),
        verifier.close(),
      ]);
    },
  };

  function limiter(points: number, prefix: string) {
    return createFailureLimiter({ pool: database.pool, points, seconds: FAILURE_WINDOW, prefix, logger });
  }
}

/** The OpenAPI document, without opening anything: a pool connects when it is first used. */
export function composeOpenApi(env: Readonly<Record<string, string | undefined>>) {
  const config = loadConfig({ DATABASE_URL: 'postgres://localhost/unused', ...env }, { role: 'migrate' });
  const logger = createLogger({ ...config, logLevel: 'silent' });
  const { routes } = composeRoutes(config, composeCore(config, { logger, name: 'openapi' }), logger);
  return createOpenApi({ routes, config });
}

function requireDatabase({ databaseUrl }: Config): string {
  if (databaseUrl === undefined) throw databaseMissing();
  return databaseUrl;
}

// The wiring of the HTTP interface: the rooms behind it and their route tables. Like compose.ts it must hold no rule of its own.

import type { Logger } from 'pino';
import { createAuditRoutes } from '../../audit/audit.routes.ts';
import { createAuditReadingService } from '../../audit/audit-reading.service.ts';
import { countChallenges } from '../../authentication/challenges/challenge.metrics.ts';
import { createChallengeRoutes } from '../../authentication/challenges/challenge.routes.ts';
import { createChallengeService } from '../../authentication/challenges/challenge.service.ts';
import { createRedemptionService } from '../../authentication/challenges/redemption.service.ts';
import { createDelegationRoutes } from '../../authentication/delegations/delegation.routes.ts';
import { createIssuerRoutes } from '../../authentication/issuer/issuer.routes.ts';
import { createIssuerKeyRoutes } from '../../authentication/issuer/issuer-key.routes.ts';
import { createIntrospectionRoutes } from '../../authentication/tokens/introspection.routes.ts';
import { countTokens } from '../../authentication/tokens/token.metrics.ts';
import { createTokenRoutes } from '../../authentication/tokens/token.routes.ts';
import { createTokenEndpointService } from '../../authentication/tokens/token-endpoint.service.ts';
import { createUserinfoRoutes } from '../../authentication/tokens/userinfo.routes.ts';
import { createUserinfoService } from '../../authentication/tokens/userinfo.service.ts';
import { createTrustedIssuerRoutes } from '../../authentication/trusted-issuers/trusted-issuer.routes.ts';
import { createBacklogGauge } from '../../events/backlog.service.ts';
import { createEventRoutes } from '../../events/event.routes.ts';
import { createEventTypeRoutes } from '../../events/event-type.routes.ts';
import { createFeedService } from '../../events/feed.service.ts';
import { countPublications } from '../../events/publishing.metrics.ts';
import { createPublishingService } from '../../events/publishing.service.ts';
import { createAgentRoutes } from '../../identity/agents/agent.routes.ts';
import { createSelfRoutes } from '../../identity/agents/self.routes.ts';
import { createSelfService } from '../../identity/agents/self.service.ts';
import { createAnchorRoutes } from '../../identity/anchors/anchor.routes.ts';
import * as anchorStore from '../../identity/anchors/anchor.store.ts';
import { createApplicationRoutes } from '../../identity/applications/application.routes.ts';
import { TOKEN_EXCHANGE_GRANT } from '../../identity/applications/application.ts';
import { createEnrollmentRoutes } from '../../identity/enrollments/enrollment.routes.ts';
import { createEnrollmentService } from '../../identity/enrollments/enrollment.service.ts';
import { createEnrollmentFailureService } from '../../identity/enrollments/enrollment-failure.service.ts';
import { createKeyRoutes } from '../../identity/keys/key.routes.ts';
import { createRotationRoutes } from '../../identity/keys/rotation.routes.ts';
import { createTenantRoutes } from '../../identity/tenants/tenant.routes.ts';
import { type Config, loadConfig } from '../../platform/config.ts';
import { createSignatureVerifier } from '../../platform/crypto/verify-signature.node.ts';
import { countRefusals } from '../../platform/http/limit.metrics.ts';
import { createLimitCounts } from '../../platform/http/limit-counts.ts';
import { createOpenApi } from '../../platform/http/openapi.ts';
import { createRateLimiter, createRateLimits } from '../../platform/http/rate-limit.ts';
import { measureRequests } from '../../platform/http/request.metrics.ts';
import type { Route } from '../../platform/http/route.ts';
import { createLogger, reasonOf } from '../../platform/logging.ts';
import { createAccountRoutes } from '../../webhooks/accounts/account.routes.ts';
import { createAccountReadingService } from '../../webhooks/accounts/account-reading.service.ts';
import { createDeliveryRoutes } from '../../webhooks/deliveries/delivery.routes.ts';
import { createRecoveryRoutes } from '../../webhooks/replays/bulk-replay.routes.ts';
import { createSigningSecretRoutes } from '../../webhooks/subscriptions/signing-secret.routes.ts';
import { createSubscriptionRoutes } from '../../webhooks/subscriptions/subscription.routes.ts';
import { type Core, composeCore } from './compose.ts';
import { composeAgents } from './compose-agents.ts';
import { composeAnchors } from './compose-anchors.ts';
import { composeDelegations } from './compose-delegations.ts';
import { composeExchange } from './compose-exchange.ts';
import { composeTokens } from './compose-tokens.ts';

/** Wires the HTTP interface: the services behind it and its route table. */
export function composeRoutes(config: Config, core: Core, logger: Logger) {
  const { database, audit, events, eventStore, issuer, tenants, applications, notifier } = core;
  const { registry } = core;
  const onRefused = countRefusals({ registry });
  const authentication = composeTokens(config, core, { logger, onRefused });
  const { tokens, dpop, introspection, failures, limitFailures, detectBruteForce } = authentication;
  const verifier = createSignatureVerifier();
  const counts = createLimitCounts({
    database,
    onError: (error) => logger.warn({ reason: reasonOf(error) }, 'requests are counted in this process only'),
  });
  const { agents, keys, rotations } = composeAgents({
    database,
    audit,
    events,
    tenants,
    tokens,
    verifier,
    revokeAnchors: anchorStore.revokeAll,
    onError: (error) => logger.warn({ reason: reasonOf(error) }, 'a key rotation waits for its workflow'),
  });
  const anchors = composeAnchors({ ...core, agents });
  const challenges = createChallengeService({
    database,
    verifier,
    keys,
    tokens,
    redemptions: createRedemptionService({ database, audit, events, rotations }),
    failures,
    challengeLifetime: config.challengeLifetime,
  });
  const enrollments = createEnrollmentService({
    database,
    agents,
    keys,
    audit,
    failures: createEnrollmentFailureService({
      database,
      audit,
      events,
      limiter: limitFailures({ points: config.rateLimit.fingerprintFailures, prefix: 'enrollment' }),
      bruteForce: detectBruteForce({ limit: config.rateLimit.fingerprintFailures }),
    }),
  });
  const publishing = createPublishingService({
    database,
    notifier,
    backlog: createBacklogGauge({
      count: (tenantId, atMost) => eventStore.countUnfinished(database, tenantId, atMost),
      limit: config.backlogLimit,
    }),
    limit: createRateLimiter({ name: 'publish', points: config.rateLimit.publish, counts, onRefused }),
    tracing: core.tracing,
  });
  const auditLogs = createAuditReadingService({
    database,
  });
  const delegations = composeDelegations({ ...core, agents });
  const { exchange, trustedIssuers, ...foreignKeys } = composeExchange(config, core, {
    authentication,
    delegations,
    logger,
  });
  const grants = new Map([...authentication.grants, [TOKEN_EXCHANGE_GRANT, exchange.grant]]);
  const tokenEndpoint = createTokenEndpointService({ grants, dpop });
  const routes: Route[] = [
    ...createIssuerRoutes({ issuer }),
    ...createTokenRoutes({ tokenEndpoint: countTokens(tokenEndpoint, { registry, grants: grants.keys() }) }),
    ...createIntrospectionRoutes({ introspection }),
    ...createUserinfoRoutes({ userinfo: createUserinfoService({ agents, applications }) }),
    ...createChallengeRoutes({ challenges: countChallenges(challenges, core), dpop }),
    ...createEnrollmentRoutes({ enrollments }),
    ...createSelfRoutes({ self: createSelfService({ agents, keys, tokens, database }) }),
    ...createTenantRoutes({ tenants }),
    ...createIssuerKeyRoutes({ issuerKeys: core.issuerKeys, workflows: config.temporal }),
    ...createApplicationRoutes({ applications }),
    ...createAgentRoutes({ agents }),
    ...createKeyRoutes({ keys }),
    ...createRotationRoutes({ rotations, workflows: config.temporal }),
    ...createAnchorRoutes({ anchors }),
    ...createAuditRoutes({ auditLogs }),
    ...createDelegationRoutes({ delegations }),
    ...createTrustedIssuerRoutes({ trustedIssuers }),
    ...createEventRoutes({
      publishing: countPublications(publishing, core),
      feed: createFeedService({ database, deliveries: core.deliveries }),
    }),
    ...createEventTypeRoutes(),
    ...createSubscriptionRoutes({ subscriptions: core.subscriptions }),
    ...createSigningSecretRoutes({ signingSecrets: core.signingSecrets, subscriptions: core.subscriptions }),
    ...createRecoveryRoutes({
      recoveries: core.bulkRecoveries,
      subscriptions: core.subscriptions,
      workflows: config.temporal,
    }),
    ...createDeliveryRoutes({ deliveries: core.deliveries, workflows: config.temporal }),
    ...createAccountRoutes({
      accounts: createAccountReadingService({ database }),
    }),
  ];
  return {
    routes,
    tokens,
    dpop,
    rateLimits: createRateLimits(config.rateLimit, counts, onRefused),
    measure: measureRequests({ registry, routes }),
    /** To be called before the database closes: failures that were counted are written now. */
    close: async () => {
      await Promise.allSettled([
        authentication.close(),
        foreignKeys.close(),
        verifier.close(),
        counts.settled(),
      ]);
    },
  };
}

/** The OpenAPI document, without opening anything: a pool connects when it is first used. */
export function composeOpenApi(env: Readonly<Record<string, string | undefined>>) {
  const config = loadConfig({ DATABASE_URL: 'postgres://localhost/unused', ...env }, { role: 'migrate' });
  const logger = createLogger({ ...config, logLevel: 'silent' });
  const { routes } = composeRoutes(config, composeCore(config, { logger, name: 'openapi' }), logger);
  return createOpenApi({ routes, config });
}

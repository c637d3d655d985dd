// Wires an API process: the services that only it has, and the routes of its interface.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AccessRecordService } from '../../audit/access-record.service.ts';
import { AuditProofService } from '../../audit/audit-proof.service.ts';
import { AuditReadingService } from '../../audit/audit-reading.service.ts';
import { wireAuthenticationFailures, wireChallenges } from '../../authentication/challenges/wire.ts';
import { ConsoleSessionService } from '../../authentication/console/session.service.ts';
import { DpopService } from '../../authentication/dpop/dpop.service.ts';
import { TokenExchangeService } from '../../authentication/token-exchange/token-exchange.service.ts';
import { authorize } from '../../authentication/tokens/bearer.routes.ts';
import { IntrospectionService } from '../../authentication/tokens/introspection.service.ts';
import { UserinfoService } from '../../authentication/tokens/userinfo.service.ts';
import { wireClients, wireTokenEndpoint } from '../../authentication/tokens/wire.ts';
import { wireTrustedIssuers } from '../../authentication/trusted-issuers/wire.ts';
import { UserForgettingService } from '../../authentication/users/user-forgetting.service.ts';
import { wireWorkloadIssuers } from '../../authentication/workload-issuers/wire.ts';
import { describeWebhooks } from '../../events/event-contract.ts';
import { AnchorService } from '../../identity/anchors/anchor.service.ts';
import { AnchorProgressService } from '../../identity/anchors/anchor-progress.service.ts';
import { ApplicationService } from '../../identity/applications/application.service.ts';
import { TOKEN_EXCHANGE_GRANT } from '../../identity/applications/application.ts';
import { wireEnrollments } from '../../identity/enrollments/wire.ts';
import { SelfService } from '../../identity/keys/self.service.ts';
import { loadConfig } from '../../platform/config.ts';
import { parseNetworks } from '../../platform/egress/address-rules.ts';
import { createOpenApi } from '../../platform/http/openapi.ts';
import { measureRequests } from '../../platform/http/request.metrics.ts';
import type { Route } from '../../platform/http/route.ts';
import { type Limits, wireLimits } from '../../platform/http/wire.ts';
import { createLogger } from '../../platform/logger.ts';
import type { Objective } from '../../platform/metrics/objectives.ts';
import { openPlatform, type Platform } from '../../platform/opening/platform.ts';
import { AccountReadingService } from '../../webhooks/accounts/account-reading.service.ts';
import { HourReadingService } from '../../webhooks/accounts/hour-count.service.ts';
import { wireEventWaiters, wirePublishing } from '../../webhooks/intake/wire.ts';
import { wireDirectAttempts } from '../../webhooks/relay/wire-api.ts';
import { StandingService } from '../../webhooks/standing/standing.service.ts';
import { StreamService } from '../../webhooks/streams/stream.service.ts';
import { StreamPollService } from '../../webhooks/streams/stream-poll.service.ts';
import { findConsolePages, findReferencePages, listGuides } from '../pages/built-pages.ts';
import { wireCore } from './core.ts';
import { ROUTES } from './routes.ts';

/** Where the build puts the console and the API reference; they are not there where the sources run without a build. */
const BUILT = fileURLToPath(new URL('../../..', import.meta.url));

/** The objective to which a POST counts, by its path below the tenant's address. docs/operations/objectives.md */
const PROMISED = new Map<string, Objective>([
  ['/oauth/token', 'tokens'],
  ['/auth/agent/challenge', 'tokens'],
  ['/auth/agent/verify', 'tokens'],
  ['/api/v1/events', 'acceptance'],
]);

/** Wires the services of an API process and its route table. */
export function wireApi(platform: Platform) {
  const { config, database, registry, objectives } = platform;
  const limits = wireLimits(platform);
  const core = wireCore(platform);
  const { tokens } = core;

  const directAttempts = wireDirectAttempts(platform, core);
  const waiters = wireEventWaiters(platform, core);
  const publishing = wirePublishing(platform, { ...core, limits, directAttempts, waiters });
  const admittedNetworks = parseNetworks(config.webhookAllowedNetworks);
  const authentication = wireAuthentication(platform, core, limits);
  const services = {
    ...core,
    ...publishing,
    ...authentication,
    workflows: config.temporal,
    accounts: new AccountReadingService({ database }),
    hours: new HourReadingService({ database }),
    standing: new StandingService({ database }),
    streams: new StreamService({ ...core, admittedNetworks }),
    polls: new StreamPollService({ ...core, waiters }),
    anchors: new AnchorService({ ...core, progress: new AnchorProgressService(core) }),
    enrollments: wireEnrollments(platform, { ...core, limits }),
    self: new SelfService(core),
    forgetting: new UserForgettingService({ ...core, tokens: core.revocations }),
    auditLogs: new AuditReadingService(authentication),
    auditProofs: new AuditProofService(authentication),
  };
  const routes: Route[] = ROUTES.flatMap((create) => create(services));
  return {
    ...services,
    routes,
    pages: [findConsolePages(join(BUILT, 'console')), findReferencePages(join(BUILT, 'reference'))],
    guides: listGuides(join(BUILT, 'reference')),
    describeEvents: describeWebhooks,
    directAttempts,
    authorize: (route: Route) =>
      authorize(route, tokens.authenticate, authentication.dpop, authentication.accesses),
    rateLimits: limits.rateLimits,
    turns: limits.turns,
    measure: measureRequests({ registry, routes, objectives, promised: PROMISED }),
    /** Answers the readers that wait. Called before the server waits for its answers. */
    endWaits: waiters.end,
    /** Writes the counts that are still in memory. Called before the platform closes. */
    close: () => Promise.allSettled([core.close(), authentication.close(), limits.close(), waiters.close()]),
  };
}

/** Wires what authenticates agents, clients and people, and what gives them tokens. */
function wireAuthentication(platform: Platform, core: ReturnType<typeof wireCore>, limits: Limits) {
  const { config, database, clock } = platform;
  const { masterKeys, accessTokenLifetime, rateLimit } = config;
  const { now } = clock;
  const accesses = new AccessRecordService(platform);
  const dpop = new DpopService({ database, masterKeys, now });
  const failures = wireAuthenticationFailures(platform, { ...core, limits });
  const applications = new ApplicationService({ ...core, tokens: core.revocations });
  const clients = wireClients(platform, { ...core, applications, limits });
  const trustedIssuers = wireTrustedIssuers(platform, core);
  const workloads = wireWorkloadIssuers(platform, { ...core, ...trustedIssuers, limits });
  const services = {
    ...core,
    ...clients,
    ...trustedIssuers,
    ...workloads,
    applications,
    accesses,
    dpop,
    failures,
  };
  const exchange = new TokenExchangeService({ ...services, accessTokenLifetime, now });
  const grants = [[TOKEN_EXCHANGE_GRANT, exchange.grant] as const, workloads.workloadGrant];
  return {
    ...services,
    tokenEndpoint: wireTokenEndpoint(platform, { ...services, grants }),
    introspection: new IntrospectionService(services),
    userinfo: new UserinfoService(services),
    challenges: wireChallenges(platform, services),
    sessions: new ConsoleSessionService({
      ...services,
      failures: limits.limitFailures('console', rateLimit.clientFailures),
    }),
    close: () =>
      Promise.allSettled([
        clients.closeClients(),
        workloads.closeWorkloads(),
        trustedIssuers.closeTrustedIssuers(),
        accesses.close(),
      ]),
  };
}

/** The OpenAPI document. It opens no connection, because a pool connects at its first use. */
export function composeOpenApi(env: Readonly<Record<string, string | undefined>>) {
  const config = loadConfig({ DATABASE_URL: 'postgres://localhost/unused', ...env }, { role: 'migrate' });
  const logger = createLogger({ ...config, logLevel: 'silent' });
  const { routes, describeEvents } = wireApi(openPlatform(config, { logger, name: 'openapi' }));
  return createOpenApi({ routes, config, describeEvents });
}

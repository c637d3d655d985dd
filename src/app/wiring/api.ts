// Wires the rooms of an API process and the routes of its interface, in the order of the wings.
import { join } from 'node:path';
import { wireAccessRecords, wireAudit } from '../../audit/wire.ts';
import { wireAuthenticationFailures, wireChallenges } from '../../authentication/challenges/wire.ts';
import { wireConsole } from '../../authentication/console/wire.ts';
import { tellDelegations, wireDelegations } from '../../authentication/delegations/wire.ts';
import { wireDpop } from '../../authentication/dpop/wire.ts';
import { wireDeliveryKeys, wireIssuer } from '../../authentication/issuer/wire.ts';
import { wireTokenExchange } from '../../authentication/token-exchange/wire.ts';
import { authorize } from '../../authentication/tokens/bearer.routes.ts';
import {
  wireClients,
  wireRevocations,
  wireTokenEndpoint,
  wireTokens,
  wireUserinfo,
} from '../../authentication/tokens/wire.ts';
import { wireTrustedIssuers } from '../../authentication/trusted-issuers/wire.ts';
import { wireWorkloadIssuers } from '../../authentication/workload-issuers/wire.ts';
import { describeWebhooks } from '../../events/event-contract.ts';
import { wireAgents, wireSelf } from '../../identity/agents/wire.ts';
import { wireAnchors } from '../../identity/anchors/wire.ts';
import { wireApplications } from '../../identity/applications/wire.ts';
import { wireEnrollments } from '../../identity/enrollments/wire.ts';
import { wireKeys } from '../../identity/keys/wire.ts';
import { wireTenants } from '../../identity/tenants/wire.ts';
import { wireSealedSecrets } from '../../operations/master-keys/wire.ts';
import { loadConfig } from '../../platform/config.ts';
import { createSignatureVerifier } from '../../platform/crypto/verify-signature.node.ts';
import { createOpenApi } from '../../platform/http/openapi.ts';
import { measureRequests } from '../../platform/http/request.metrics.ts';
import type { Route } from '../../platform/http/route.ts';
import { wireLimits } from '../../platform/http/wire.ts';
import { createLogger } from '../../platform/logger.ts';
import { openPlatform, type Platform } from '../../platform/platform.ts';
import { createWorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import { wireAccounts } from '../../webhooks/accounts/wire.ts';
import { wireAttempts, wireDeliveries } from '../../webhooks/deliveries/wire.ts';
import { wireEndpoints } from '../../webhooks/endpoints/wire.ts';
import { createFeedCompleteness } from '../../webhooks/intake/feed-completeness.ts';
import { wirePublishing, wireRecords } from '../../webhooks/intake/wire.ts';
import { wireReceiptOpening, wireReceipts } from '../../webhooks/receipts/wire.ts';
import { wireDirectAttempts } from '../../webhooks/relay/wire.ts';
import { wireReplays } from '../../webhooks/replays/wire.ts';
import { wireSecurityEvents, wireStreams } from '../../webhooks/streams/wire.ts';
import { wireSubscriptions } from '../../webhooks/subscriptions/wire.ts';
import { findConsolePages, findReferencePages } from '../pages/built-pages.ts';
import { SEALED_COLUMNS } from './sealed-columns.ts';

/** Where the build puts the console and the API reference; they are not there where the sources run without a build. */
const BUILT = join(import.meta.dirname, '..', '..', '..');

/** Wires the rooms of the HTTP interface and its route table. */
export function wireApi(platform: Platform) {
  const limits = wireLimits(platform);
  const verifier = createSignatureVerifier();
  const commands = createWorkflowCommandService();

  const records = wireRecords(platform, { receipts: wireReceiptOpening({ commands }) });
  const shared = { records, commands };
  const accesses = wireAccessRecords(platform);

  // The issuer comes before agents and keys, because the end of an agent or a key ends its tokens.
  const completeness = createFeedCompleteness();
  const revocations = wireRevocations(platform, { onRead: completeness.add });
  const issuer = wireIssuer(platform, { ...shared, revocations });
  const tokens = wireTokens(platform, { ...issuer, revocations });

  const tenants = wireTenants(platform, { ...shared, ...issuer });
  const deliveryKeys = wireDeliveryKeys(platform, { ...issuer, ...tenants });
  const applications = wireApplications(platform, { ...shared, tokens: revocations });
  const agents = wireAgents(platform, { ...shared, tokens, tellDelegations });
  const keys = wireKeys(platform, { ...shared, ...tenants, ...agents, tokens, verifier });
  const anchors = wireAnchors(platform, { ...shared, ...agents });
  const enrollments = wireEnrollments(platform, { ...shared, ...agents, ...keys, limits });
  const self = wireSelf(platform, { ...agents, ...keys, tokens });

  const endpoints = wireEndpoints(platform, shared);
  const deliveries = wireDeliveries(platform, { ...shared, ...endpoints });
  const subscriptions = wireSubscriptions(platform, {
    ...shared,
    ...tenants,
    ...endpoints,
    ...deliveries,
    ...deliveryKeys,
  });
  const replays = wireReplays(platform, { ...shared, ...endpoints, ...subscriptions });
  const securityEvents = wireSecurityEvents({ ...tenants, ...issuer });
  const attempts = wireAttempts(platform, {
    ...shared,
    ...endpoints,
    ...subscriptions,
    ...securityEvents,
    ...deliveryKeys,
  });
  const streams = wireStreams(platform, {
    ...shared,
    ...tenants,
    ...issuer,
    ...agents,
    ...endpoints,
    ...deliveries,
    ...subscriptions,
    ...securityEvents,
  });
  const receipts = wireReceipts(platform, { ...shared, ...agents });
  const accounts = wireAccounts(platform);
  const directAttempts = wireDirectAttempts(platform, attempts);
  const publishing = wirePublishing(platform, {
    ...deliveries,
    limits,
    directAttempts,
    completeness,
  });

  const dpop = wireDpop(platform);
  const failures = wireAuthenticationFailures(platform, { ...shared, limits });
  const clients = wireClients(platform, { ...shared, ...applications, limits });
  const delegations = wireDelegations(platform, { ...shared, ...agents, revocations });
  const trustedIssuers = wireTrustedIssuers(platform, shared);
  const exchanging = { ...clients, ...delegations, ...trustedIssuers, tokens, revocations };
  const exchange = wireTokenExchange(platform, { ...shared, ...exchanging });
  const workloads = wireWorkloadIssuers(platform, {
    ...shared,
    ...agents,
    ...trustedIssuers,
    tokens,
    revocations,
    limits,
  });
  const tokenEndpoint = wireTokenEndpoint(platform, {
    ...shared,
    ...clients,
    tokens,
    revocations,
    dpop,
    failures,
    accesses,
    grants: [exchange, workloads.workloadGrant],
  });
  const console = wireConsole(platform, {
    ...shared,
    ...applications,
    ...clients,
    tokens,
    revocations,
    limits,
  });
  const audit = wireAudit(platform, { accesses });
  const userinfo = wireUserinfo({ ...agents, ...applications });
  const challenges = wireChallenges(platform, { ...shared, ...keys, tokens, dpop, failures, verifier });

  const sealedSecrets = wireSealedSecrets(platform, { columns: SEALED_COLUMNS });

  // The order of the routes is that of the OpenAPI document.
  const routes: Route[] = [
    issuer.routes,
    deliveryKeys.routes,
    tokenEndpoint.routes,
    userinfo.routes,
    challenges.routes,
    enrollments.routes,
    self.routes,
    tenants.routes,
    issuer.keyRoutes,
    applications.routes,
    agents.routes,
    keys.routes,
    anchors.routes,
    audit.routes,
    delegations.routes,
    trustedIssuers.routes,
    workloads.routes,
    publishing.routes,
    subscriptions.routes,
    replays.routes,
    deliveries.routes,
    accounts.routes,
    streams.routes,
    receipts.routes,
    console.routes,
  ].flat();
  const events = describeWebhooks();
  return {
    routes,
    pages: [findConsolePages(join(BUILT, 'console')), findReferencePages(join(BUILT, 'reference'))],
    events,
    issuer: issuer.issuer,
    tenants: tenants.tenants,
    sealedSecrets,
    revocations,
    directAttempts,
    authorize: (route: Route) => authorize(route, tokens.authenticate, dpop, accesses),
    rateLimits: limits.rateLimits,
    turns: limits.turns,
    measure: measureRequests({ registry: platform.registry, routes }),
    /** Writes the counts that are still in memory. Called before the platform closes. */
    close: async () => {
      await Promise.allSettled(
        [attempts, clients, workloads, accesses, dpop, trustedIssuers, verifier, limits, revocations].map(
          (room) => room.close(),
        ),
      );
    },
  };
}

/** The OpenAPI document. It opens no connection, because a pool connects at its first use. */
export function composeOpenApi(env: Readonly<Record<string, string | undefined>>) {
  const config = loadConfig({ DATABASE_URL: 'postgres://localhost/unused', ...env }, { role: 'migrate' });
  const logger = createLogger({ ...config, logLevel: 'silent' });
  const { routes, events } = wireApi(openPlatform(config, { logger, name: 'openapi' }));
  return createOpenApi({ routes, config, events });
}

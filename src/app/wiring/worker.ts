// Wires the rooms of a worker process: first those that need the database only, then those that use Temporal.
import type { Client } from '@temporalio/client';
import { createActivities } from '../../../activities/index.ts';
import { measureSealer, wireAuditSealer } from '../../audit/wire.ts';
import { wireChallengeExpiry, wireExpiryKeeper } from '../../authentication/challenges/wire.ts';
import {
  countOverdueDelegations,
  tellDelegations,
  wireDelegationExpiry,
  wireDelegations,
} from '../../authentication/delegations/wire.ts';
import {
  countOverdueIssuerKeys,
  wireDeliveryKeys,
  wireIssuer,
  wireIssuerRotation,
} from '../../authentication/issuer/wire.ts';
import { wireRevocations, wireTokens } from '../../authentication/tokens/wire.ts';
import { wireAgents } from '../../identity/agents/wire.ts';
import { countOverdueAnchors, wireAnchorChecks } from '../../identity/anchors/wire.ts';
import { countOverdueRotations, wireKeys } from '../../identity/keys/wire.ts';
import { wireTenants } from '../../identity/tenants/wire.ts';
import { wireSealedSecrets } from '../../operations/master-keys/wire.ts';
import { createSignatureVerifier } from '../../platform/crypto/verify-signature.node.ts';
import { isAway } from '../../platform/database/errors.ts';
import { createReadings } from '../../platform/metrics/reading.ts';
import type { Platform } from '../../platform/platform.ts';
import { TASK_QUEUES } from '../../platform/temporal/names.ts';
import { measureWorkflowCommands, wireWorkflowCommands } from '../../platform/temporal/wire.ts';
import { createWorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import { measureAccounts } from '../../webhooks/accounts/wire.ts';
import { measureBacklog, wireWaitingCount } from '../../webhooks/backlog/wire.ts';
import { wireAttempts, wireDeliveries } from '../../webhooks/deliveries/wire.ts';
import { wireEndpointRecovery, wireEndpoints } from '../../webhooks/endpoints/wire.ts';
import { wireRecords } from '../../webhooks/intake/wire.ts';
import { wireReceiptOpening, wireReceipts } from '../../webhooks/receipts/wire.ts';
import { wireRelay } from '../../webhooks/relay/wire.ts';
import { wireReplays } from '../../webhooks/replays/wire.ts';
import { wireSecurityEvents } from '../../webhooks/streams/wire.ts';
import { countOverdueSecrets, wireSubscriptions } from '../../webhooks/subscriptions/wire.ts';
import { wireRetentionOfRooms } from './retention.ts';
import { SEALED_COLUMNS } from './sealed-columns.ts';

export type WorkerRooms = ReturnType<typeof wireWorkerRooms>;

/** Wires the rooms that work without Temporal. */
export function wireWorkerRooms(platform: Platform) {
  const verifier = createSignatureVerifier();
  const commands = createWorkflowCommandService();

  const records = wireRecords(platform, { receipts: wireReceiptOpening({ commands }) });
  const shared = { records, commands };

  // The issuer comes before agents and keys, because the end of an agent or a key ends its tokens.
  const revocations = wireRevocations(platform);
  const issuer = wireIssuer(platform, { ...shared, revocations });
  const tokens = wireTokens(platform, { ...issuer, revocations });

  const tenants = wireTenants(platform, { ...shared, ...issuer });
  const deliveryKeys = wireDeliveryKeys(platform, { ...issuer, ...tenants });
  const agents = wireAgents(platform, { ...shared, tokens, tellDelegations });
  const keys = wireKeys(platform, { ...shared, ...tenants, ...agents, tokens, verifier });
  const anchorChecks = wireAnchorChecks(platform, { ...shared, ...tenants, ...agents });

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
  const receipts = wireReceipts(platform, { ...shared, ...agents });
  const recovery = wireEndpointRecovery(platform, { ...shared, ...tenants, ...subscriptions });

  const issuerRotation = wireIssuerRotation(platform, { ...tenants, ...issuer });
  const delegations = wireDelegations(platform, { ...shared, ...agents, revocations });
  const delegationExpiry = wireDelegationExpiry(platform, { ...shared, ...tenants, ...delegations });
  const challengeExpiry = wireChallengeExpiry(platform, shared);

  const sealedSecrets = wireSealedSecrets(platform, { columns: SEALED_COLUMNS });
  const { retention, readStanding } = wireRetentionOfRooms(platform, shared);

  return {
    issuer: issuer.issuer,
    tenants: tenants.tenants,
    sealedSecrets,
    endpoints: endpoints.endpoints,
    attempts,
    challengeExpiry,
    readStanding,
    activities: createActivities({
      ...attempts,
      ...deliveries,
      ...keys,
      ...anchorChecks,
      ...replays,
      ...subscriptions,
      ...receipts,
      recovery,
      issuerRotation,
      delegationExpiry,
      challengeExpiry,
      retention,
    }),
    /** The summary that operators see for each entity with a workflow. */
    describe: {
      agentKeyRotation: ({ tenantId, id }) => keys.rotationSteps.describe({ tenantId, keyId: id }),
      anchorVerification: async (name) => {
        const shown = await anchorChecks.anchorChecks.describe(name);
        return shown && { ...shown, slowQueue: TASK_QUEUES.slow };
      },
      bulkReplay: replays.bulkReplays.describe,
      webhookSecretRotation: ({ tenantId, id }) =>
        subscriptions.signingSecrets.describe({ tenantId, subscriptionId: id }),
      endpointRecovery: ({ tenantId, id }) => recovery.describe({ tenantId, subscriptionId: id }),
      issuerKeyRotation: issuerRotation.describe,
      delegationExpiry: delegationExpiry.describe,
      accessReceipt: receipts.receipts.describe,
    } satisfies Parameters<typeof wireWorkflowCommands>[1]['describe'],
    /** Called after all loops have ended, before the platform closes. */
    close: () =>
      Promise.allSettled([attempts, verifier, anchorChecks, revocations].map((room) => room.close())),
  };
}

/** Wires the loops of a worker that use Temporal, without starting them. @param client starts workflows */
export function wireWorkerLoops(platform: Platform, rooms: WorkerRooms, client: Client) {
  const { endpoints, attempts, challengeExpiry, describe, tenants } = rooms;
  const presenter = { docsUrl: platform.config.docsUrl, tenantOf: tenants.byId };
  return {
    sealer: wireAuditSealer(platform),
    ...wireWorkflowCommands(platform, { client, describe, presenter }),
    ...wireRelay(platform, {
      ...attempts,
      endpoints,
      client,
      presenter,
      countWaiting: wireWaitingCount(platform),
    }),
    expiryKeeper: wireExpiryKeeper(platform, { client, expiry: challengeExpiry }),
  };
}

/** Registers metrics that are read from the database at each scrape; every worker reports the same values. */
export function measureStanding(
  platform: Platform,
  { challengeExpiry, readStanding }: Pick<WorkerRooms, 'challengeExpiry' | 'readStanding'>,
): void {
  const readings = createReadings({ isAway });
  measureBacklog(platform, readings);
  measureWorkflowCommands(platform, readings, {
    agentKeyRotation: countOverdueRotations,
    anchorVerification: countOverdueAnchors,
    challengeExpiry: async () => ((await challengeExpiry.findOverdue()) === null ? 0 : 1),
    delegationExpiry: countOverdueDelegations,
    issuerKeyRotation: countOverdueIssuerKeys,
    webhookSecretRotation: countOverdueSecrets,
  });
  measureSealer(platform, readings);
  measureAccounts(platform, readings, readStanding);
}

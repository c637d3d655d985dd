// Makes the services that API and worker processes both have, in the order of the wings.
import { createDelegationService } from '../../authentication/delegations/delegation.service.ts';
import { tellOfAgent as tellDelegations } from '../../authentication/delegations/delegation-expiry.store.ts';
import { createDeliveryKeyService } from '../../authentication/issuer/delivery-key.service.ts';
import { wireIssuers } from '../../authentication/issuer/wire.ts';
import { createTokenService } from '../../authentication/tokens/token.service.ts';
import { wireRevocations } from '../../authentication/tokens/wire.ts';
import { createUserService } from '../../authentication/users/user.service.ts';
import { createAgentService } from '../../identity/agents/agent.service.ts';
import { revokeAll as revokeAnchors } from '../../identity/anchors/anchor.store.ts';
import { release as releaseKeys } from '../../identity/keys/key.store.ts';
import { wireKeys } from '../../identity/keys/wire.ts';
import { createTenantService } from '../../identity/tenants/tenant.service.ts';
import { boundsOf } from '../../identity/tenants/tenant-retention.ts';
import { createSealedSecretService } from '../../operations/master-keys/sealed-secret.service.ts';
import { createSignatureVerifier } from '../../platform/crypto/verify-signature.node.ts';
import type { Platform } from '../../platform/platform.ts';
import { createWorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import { createDeliveryService } from '../../webhooks/deliveries/delivery.service.ts';
import { wireAttempts } from '../../webhooks/deliveries/wire.ts';
import { wireEndpoints } from '../../webhooks/endpoints/wire.ts';
import { wireEventNews, wireRecords } from '../../webhooks/intake/wire.ts';
import { createReceiptService } from '../../webhooks/receipts/receipt.service.ts';
import { createReceiptOpening } from '../../webhooks/receipts/receipt-opening.service.ts';
import { wireReplays } from '../../webhooks/replays/wire.ts';
import { createSecurityEventService } from '../../webhooks/streams/security-event.service.ts';
import { wireSubscriptions } from '../../webhooks/subscriptions/wire.ts';
import { SEALED_COLUMNS } from './sealed-columns.ts';

/** @returns the services by their names, with which the roots make those of one kind of process */
export function wireCore(platform: Platform) {
  const { config, database, log, notifier, clock } = platform;
  const { masterKeys, accessTokenLifetime, refreshTokenLifetime } = config;
  const verifier = createSignatureVerifier();
  const commands = createWorkflowCommandService();
  const news = wireEventNews(platform);
  const records = wireRecords(platform, { ...news, receipts: createReceiptOpening({ commands }) });
  const shared = { database, log, notifier, verifier, commands, records };

  // The issuer comes before agents and keys, because the end of an agent or a key ends its tokens.
  const revocations = wireRevocations(platform);
  const issuers = wireIssuers(platform, { ...shared, revocations });
  const tokens = createTokenService({
    ...issuers,
    revocations,
    accessTokenLifetime,
    refreshTokenLifetime,
    now: clock.now,
  });
  const tenants = createTenantService({
    ...shared,
    ...issuers,
    addresses: config,
    retention: boundsOf(config),
    subscriptionLimit: config.subscriptionLimit,
  });
  const deliveryKeys = createDeliveryKeyService({ ...issuers, tenants, masterKeys });
  const agents = createAgentService({ ...shared, tokens, tellDelegations, releaseKeys, revokeAnchors });
  const keys = wireKeys(platform, { ...shared, tenants, agents, tokens });
  const users = createUserService({ database, masterKeys });
  const delegations = createDelegationService({ ...shared, users, agents, tokens: revocations });

  const endpoints = wireEndpoints(platform, shared);
  const deliveries = createDeliveryService({ ...shared, ...endpoints });
  const subscriptions = wireSubscriptions(platform, { ...shared, ...endpoints, tenants, deliveries });
  const securityEvents = createSecurityEventService({ tenants, signer: issuers.eventIssuer });
  const sending = { ...shared, ...endpoints, ...subscriptions, securityEvents, deliveryKeys };
  const attempts = wireAttempts(platform, sending);

  return {
    ...sending,
    ...news,
    ...issuers,
    ...keys,
    ...attempts,
    ...wireReplays(platform, sending),
    revocations,
    tokens,
    tenants,
    agents,
    users,
    delegations,
    deliveries,
    receipts: createReceiptService({ ...shared, accessTokenLifetime }),
    sealedSecrets: createSealedSecretService({ database, masterKeys, columns: SEALED_COLUMNS }),
    /** Ends threads and connections of the services. Called before the platform closes. */
    close: () => Promise.allSettled([attempts.closeAttempts(), verifier.close(), revocations.close()]),
  };
}

// Makes the services that API and worker processes both have, in the order of the wings.
import { DelegationService } from '../../authentication/delegations/delegation.service.ts';
import { tellOfAgent as tellDelegations } from '../../authentication/delegations/delegation-expiry.store.ts';
import { DeliveryKeyService } from '../../authentication/issuer/delivery-key.service.ts';
import { wireIssuers } from '../../authentication/issuer/wire.ts';
import { TokenService } from '../../authentication/tokens/token.service.ts';
import { wireRevocations } from '../../authentication/tokens/wire.ts';
import { UserService } from '../../authentication/users/user.service.ts';
import { AgentService } from '../../identity/agents/agent.service.ts';
import { revokeAll as revokeAnchors } from '../../identity/anchors/anchor.store.ts';
import { revokeOpen as endEnrollments } from '../../identity/enrollments/enrollment.store.ts';
import { release as releaseKeys } from '../../identity/keys/key.store.ts';
import { wireKeys } from '../../identity/keys/wire.ts';
import { TenantService } from '../../identity/tenants/tenant.service.ts';
import { boundsOf } from '../../identity/tenants/tenant-retention.ts';
import { SealedSecretService } from '../../operations/master-keys/sealed-secret.service.ts';
import { createSignatureVerifier } from '../../platform/crypto/verify-signature.node.ts';
import type { Platform } from '../../platform/opening/platform.ts';
import { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import { DeliveryService } from '../../webhooks/deliveries/delivery.service.ts';
import { wireAttempts } from '../../webhooks/deliveries/wire.ts';
import { wireEndpoints } from '../../webhooks/endpoints/wire.ts';
import { wireEventNews, wireRecords } from '../../webhooks/intake/wire.ts';
import { ReceiptService } from '../../webhooks/receipts/receipt.service.ts';
import { ReceiptOpening } from '../../webhooks/receipts/receipt-opening.service.ts';
import { wireReplays } from '../../webhooks/replays/wire.ts';
import { SecurityEventService } from '../../webhooks/streams/security-event.service.ts';
import { wireSubscriptions } from '../../webhooks/subscriptions/wire.ts';
import { SEALED_COLUMNS } from './sealed-columns.ts';

/** @returns the services by their names, with which the roots make those of one kind of process */
export function wireCore(platform: Platform) {
  const { config, database, log, notifier, clock } = platform;
  const { masterKeys, accessTokenLifetime, refreshTokenLifetime } = config;
  const verifier = createSignatureVerifier();
  const commands = new WorkflowCommandService();
  const news = wireEventNews(platform);
  const records = wireRecords(platform, { ...news, receipts: new ReceiptOpening({ commands }) });
  const shared = { database, log, notifier, verifier, commands, records };

  // The issuer comes before agents and keys, because the end of an agent or a key ends its tokens.
  const revocations = wireRevocations(platform);
  const issuers = wireIssuers(platform, { ...shared, revocations });
  const tokens = new TokenService({
    ...issuers,
    revocations,
    accessTokenLifetime,
    refreshTokenLifetime,
    now: clock.now,
  });
  const tenants = new TenantService({
    ...shared,
    ...issuers,
    addresses: config,
    retention: boundsOf(config),
    subscriptionLimit: config.subscriptionLimit,
  });
  const deliveryKeys = new DeliveryKeyService({ ...issuers, tenants, masterKeys });
  const agents = new AgentService({
    ...shared,
    tokens,
    tellDelegations,
    releaseKeys,
    endEnrollments,
    revokeAnchors,
  });
  const keys = wireKeys(platform, { ...shared, tenants, agents, tokens });
  const users = new UserService({ database, masterKeys });
  const delegations = new DelegationService({ ...shared, users, agents, tokens: revocations });

  const endpoints = wireEndpoints(platform, shared);
  const deliveries = new DeliveryService({ ...shared, ...endpoints });
  const subscriptions = wireSubscriptions(platform, { ...shared, ...endpoints, tenants, deliveries });
  const securityEvents = new SecurityEventService({ tenants, signer: issuers.eventIssuer });
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
    receipts: new ReceiptService({ ...shared, accessTokenLifetime }),
    sealedSecrets: new SealedSecretService({ database, masterKeys, columns: SEALED_COLUMNS }),
    /** Ends threads and connections of the services. Called before the platform closes. */
    close: () => Promise.allSettled([attempts.closeAttempts(), verifier.close(), revocations.close()]),
  };
}

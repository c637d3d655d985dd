// All activities of the worker, by their names in the workflows.
import { createAccessReceiptActivities } from './access-receipt.ts';
import { createAgentKeyRotationActivities } from './agent-key-rotation.ts';
import { createAnchorVerificationActivities } from './anchor-verification.ts';
import { createBulkReplayActivities } from './bulk-replay.ts';
import { createChallengeExpiryActivities } from './challenge-expiry.ts';
import { createDelegationExpiryActivities } from './delegation-expiry.ts';
import { createEndpointRecoveryActivities } from './endpoint-recovery.ts';
import { createIssuerKeyRotationActivities } from './issuer-key-rotation.ts';
import { createRetentionActivities } from './retention.ts';
import { createTenantErasureActivities } from './tenant-erasure.ts';
import { createWebhookDeliveryActivities } from './webhook-delivery.ts';
import { createWebhookSecretRotationActivities } from './webhook-secret-rotation.ts';

export function createActivities(
  services: Parameters<typeof createWebhookDeliveryActivities>[0] &
    Parameters<typeof createAgentKeyRotationActivities>[0] &
    Parameters<typeof createAnchorVerificationActivities>[0] &
    Parameters<typeof createBulkReplayActivities>[0] &
    Parameters<typeof createWebhookSecretRotationActivities>[0] &
    Parameters<typeof createEndpointRecoveryActivities>[0] &
    Parameters<typeof createChallengeExpiryActivities>[0] &
    Parameters<typeof createIssuerKeyRotationActivities>[0] &
    Parameters<typeof createDelegationExpiryActivities>[0] &
    Parameters<typeof createAccessReceiptActivities>[0] &
    Parameters<typeof createRetentionActivities>[0] &
    Parameters<typeof createTenantErasureActivities>[0],
) {
  return {
    ...createWebhookDeliveryActivities(services),
    ...createAgentKeyRotationActivities(services),
    ...createAnchorVerificationActivities(services),
    ...createBulkReplayActivities(services),
    ...createWebhookSecretRotationActivities(services),
    ...createEndpointRecoveryActivities(services),
    ...createChallengeExpiryActivities(services),
    ...createIssuerKeyRotationActivities(services),
    ...createDelegationExpiryActivities(services),
    ...createAccessReceiptActivities(services),
    ...createRetentionActivities(services),
    ...createTenantErasureActivities(services),
  };
}

export type Activities = ReturnType<typeof createActivities>;

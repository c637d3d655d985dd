// All workflow types. The name of an export is the type's name in Temporal and cannot change.
export { accessReceipt } from './access-receipt.ts';
export { agentKeyRotation } from './agent-key-rotation.ts';
export { anchorVerification } from './anchor-verification.ts';
export { bulkReplay } from './bulk-replay.ts';
export { challengeExpiry } from './challenge-expiry.ts';
export { delegationExpiry } from './delegation-expiry.ts';
export { endpointRecovery } from './endpoint-recovery.ts';
export { issuerKeyRotation } from './issuer-key-rotation.ts';
export { retention } from './retention.ts';
export { tenantErasure } from './tenant-erasure.ts';
export { webhookDelivery } from './webhook-delivery.ts';
export { webhookSecretRotation } from './webhook-secret-rotation.ts';

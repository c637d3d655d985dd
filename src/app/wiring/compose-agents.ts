// The wiring of agents, their keys and the rotations of those. Like compose.ts it must hold no rule of its own.

import type { AuditService } from '../../audit/audit.service.ts';
import * as delegationExpiryStore from '../../authentication/delegations/delegation-expiry.store.ts';
import type { TokenService } from '../../authentication/tokens/token.service.ts';
import type { EventService } from '../../events/event.service.ts';
import { createAgentService } from '../../identity/agents/agent.service.ts';
import { createKeyService } from '../../identity/keys/key.service.ts';
import * as keyStore from '../../identity/keys/key.store.ts';
import { createRotationService } from '../../identity/keys/rotation.service.ts';
import { createRotationProgressService } from '../../identity/keys/rotation-progress.service.ts';
import { createRotationStepService } from '../../identity/keys/rotation-steps.service.ts';
import type { TenantService } from '../../identity/tenants/tenant.service.ts';
import type { SignatureVerifier } from '../../platform/crypto/verify-signature.node.ts';
import type { Database } from '../../platform/database/database.ts';
import { createWorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';

/**
 * Wires agents, keys and rotations.
 * @param revokeAnchors ends the anchors of a deleted agent
 * @param onError told of what nobody waits for and what is done later
 */
export function composeAgents({
  database,
  audit,
  events,
  tenants,
  tokens,
  verifier,
  revokeAnchors,
  onError,
}: {
  database: Database;
  audit: AuditService;
  events: EventService;
  tenants: Pick<TenantService, 'byId'>;
  tokens: Pick<TokenService, 'revokeTokensOfAgent' | 'admitTokensOfAgent' | 'revokeTokensOfKey'>;
  verifier: Pick<SignatureVerifier, 'verifySignature'>;
  revokeAnchors: Parameters<typeof createAgentService>[0]['revokeAnchors'];
  onError: (error: unknown) => void;
}) {
  const commands = createWorkflowCommandService();
  const agents = createAgentService({
    database,
    audit,
    events,
    tokens,
    releaseKeys: keyStore.release,
    revokeAnchors,
    tellDelegations: delegationExpiryStore.tellOfAgent,
  });
  const progress = createRotationProgressService({ audit, commands });
  const keys = createKeyService({
    database,
    agents,
    verifier,
    audit,
    events,
    tokens,
    rotations: progress,
  });
  const rotationSteps = createRotationStepService({
    database,
    tenants,
    agents,
    keys,
    audit,
    events,
  });
  const rotations = createRotationService({
    database,
    tenants,
    agents,
    keys,
    steps: rotationSteps,
    verifier,
    audit,
    commands,
    onError,
  });
  return { agents, keys, rotations, rotationSteps };
}

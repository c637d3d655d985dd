// The wiring of what workflows of entities need in a worker: the services that their activities call, and the runner that starts and tells
// them. Like compose.ts it must hold no rule of its own.

import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { createExpiryKeeper } from '../../authentication/challenges/challenge-expiry.client.ts';
import { createExpiryService } from '../../authentication/challenges/challenge-expiry.service.ts';
import { createIssuerRotationService } from '../../authentication/issuer/issuer-rotation.service.ts';
import { createTokenService } from '../../authentication/tokens/token.service.ts';
import * as anchorStore from '../../identity/anchors/anchor.store.ts';
import type { Config } from '../../platform/config.ts';
import { createSignatureVerifier } from '../../platform/crypto/verify-signature.node.ts';
import { reasonOf } from '../../platform/logging.ts';
import { createEntityStarter } from '../../platform/temporal/entity.client.ts';
import { TASK_QUEUES } from '../../platform/temporal/names.ts';
import { createWorkflowCommandRunner } from '../../platform/temporal/workflow-command.client.ts';
import { createRecoveryService } from '../../webhooks/endpoints/endpoint-recovery.service.ts';
import type { Core } from './compose.ts';
import { composeAgents } from './compose-agents.ts';
import { composeAnchorChecks } from './compose-anchors.ts';
import { composeDelegationExpiry } from './compose-delegations.ts';

/** @param client starts workflows */
export function composeWorkflows(
  config: Config,
  core: Core,
  { client, logger }: { client: Client; logger: Logger },
) {
  const { database, audit, events, tenants, issuer, revocations, subscriptions, notifier } = core;
  const onFailure = (error: unknown) =>
    logger.warn({ reason: reasonOf(error) }, 'a workflow could not be told; trying again');
  const tokens = createTokenService({
    issuer,
    revocations,
    accessTokenLifetime: config.accessTokenLifetime,
    refreshTokenLifetime: config.refreshTokenLifetime,
  });
  const verifier = createSignatureVerifier();
  const { agents, rotations, rotationSteps } = composeAgents({
    database,
    audit,
    events,
    tenants,
    tokens,
    verifier,
    revokeAnchors: anchorStore.revokeAll,
    onError: onFailure,
  });
  const { anchorChecks, ...anchors } = composeAnchorChecks(config, { ...core, agents });
  const entities = createEntityStarter({ client, taskQueue: TASK_QUEUES.main });
  const recovery = createRecoveryService({
    database,
    subscriptions,
    tenants,
    audit,
    events,
    commands: core.commands,
    notifier,
  });
  const issuerRotation = createIssuerRotationService({
    database,
    tenants,
    issuerKeys: core.issuerKeys,
  });
  const delegationExpiry = composeDelegationExpiry({ ...core, agents });
  const commands = createWorkflowCommandRunner({
    database,
    starter: entities,
    describe: {
      agentKeyRotation: ({ tenantId, id }) => rotationSteps.describe({ tenantId, keyId: id }),
      anchorVerification: async ({ tenantId, id }) => {
        const shown = await anchorChecks.describe({ tenantId, id });
        return shown && { ...shown, slowQueue: TASK_QUEUES.slow };
      },
      bulkRecovery: ({ tenantId, id }) => core.bulkRecoveries.describe({ tenantId, id }),
      webhookSecretRotation: ({ tenantId, id }) =>
        core.signingSecrets.describe({ tenantId, subscriptionId: id }),
      endpointRecovery: ({ tenantId, id }) => recovery.describe({ tenantId, subscriptionId: id }),
      issuerKeyRotation: ({ tenantId }) => issuerRotation.describe({ tenantId }),
      delegationExpiry: delegationExpiry.describe,
    },
    onFailure,
  });
  const challengeExpiry = createExpiryService({ database, audit });
  const expiryKeeper = createExpiryKeeper({
    client,
    expiry: challengeExpiry,
    onFailure: (error) =>
      logger.warn({ reason: reasonOf(error) }, 'challenges wait for their sweep; trying again'),
  });
  return {
    rotations,
    rotationSteps,
    anchorChecks,
    recovery,
    issuerRotation,
    delegationExpiry,
    challengeExpiry,
    expiryKeeper,
    entities,
    commands,
    close: () => Promise.all([verifier.close(), anchors.close()]),
  };
}

// Wires a worker process: first the services that need the database only, then those that use Temporal.
import type { Client } from '@temporalio/client';
import { createActivities } from '../../../activities/index.ts';
import { withoutEnds } from '../../../activities/operator-refusal.ts';
import { wireAuditSealer } from '../../audit/wire.ts';
import { ExpiryService } from '../../authentication/challenges/challenge-expiry.service.ts';
import { wireExpiryKeeper } from '../../authentication/challenges/wire-worker.ts';
import { DelegationExpiryService } from '../../authentication/delegations/delegation-expiry.service.ts';
import { IssuerRotationService } from '../../authentication/issuer/issuer-rotation.service.ts';
import { wireAnchorChecks } from '../../identity/anchors/wire.ts';
import { wireErasure } from '../../operations/erasure/wire.ts';
import { measureInvariants, wireSweep } from '../../operations/invariants/wire.ts';
import { isAway } from '../../platform/database/errors.ts';
import { createReadings } from '../../platform/metrics/reading.ts';
import type { Platform } from '../../platform/opening/platform.ts';
import { type EntityWorkflow, TASK_QUEUES } from '../../platform/temporal/names.ts';
import { measureWorkflowCommands, wireWorkflowCommands } from '../../platform/temporal/wire.ts';
import type { Describe } from '../../platform/temporal/workflow-command.client.ts';
import { wireHourCounter } from '../../webhooks/accounts/wire.ts';
import { measureBacklog, wireWaitingCount } from '../../webhooks/backlog/wire.ts';
import { EndpointRecoveryService } from '../../webhooks/endpoints/endpoint-recovery.service.ts';
import { wireRelay } from '../../webhooks/relay/wire.ts';
import { wireCore } from './core.ts';
import { listInvariants } from './invariants.ts';
import { wireRetention } from './retention.ts';

export type WorkerRooms = ReturnType<typeof wireWorkerRooms>;

/** Wires the services that work without Temporal. */
export function wireWorkerRooms(platform: Platform) {
  const core = wireCore(platform);
  const { rotationSteps, signingSecrets, bulkReplays, receipts } = core;
  const { anchorChecks, close: closeLooker } = wireAnchorChecks(platform, core);
  const recovery = new EndpointRecoveryService(core);
  const issuerRotation = new IssuerRotationService(core);
  const delegationExpiry = new DelegationExpiryService(core);
  const challengeExpiry = new ExpiryService(core);
  const { tenantErasure, close: closeErasure } = wireErasure(platform, core);
  const own = { anchorChecks, recovery, issuerRotation, delegationExpiry, challengeExpiry, tenantErasure };
  const retention = wireRetention(platform, core);
  const activities = createActivities({ ...core, ...own, retention });
  return {
    ...core,
    challengeExpiry,
    activities: platform.config.operatorEnds === 'temporal' ? activities : withoutEnds(activities),
    /** The summary that operators see for each entity with a workflow. */
    describe: {
      agentKeyRotation: ({ tenantId, id }) => rotationSteps.describe({ tenantId, keyId: id }),
      anchorVerification: async (name) => {
        const shown = await anchorChecks.describe(name);
        return shown && { ...shown, slowQueue: TASK_QUEUES.slow };
      },
      bulkReplay: bulkReplays.describe,
      webhookSecretRotation: ({ tenantId, id }) => signingSecrets.describe({ tenantId, subscriptionId: id }),
      endpointRecovery: ({ tenantId, id }) => recovery.describe({ tenantId, subscriptionId: id }),
      issuerKeyRotation: issuerRotation.describe,
      delegationExpiry: delegationExpiry.describe,
      accessReceipt: receipts.describe,
      tenantErasure: tenantErasure.describe,
    } satisfies Record<EntityWorkflow, Describe>,
    /** Called after all loops have ended, before the platform closes. */
    close: () => Promise.allSettled([core.close(), closeLooker(), closeErasure()]),
  };
}

/** Wires the loops of a worker that use Temporal, without starting them. @param client starts workflows */
export function wireWorkerLoops(platform: Platform, rooms: WorkerRooms, client: Client) {
  const { describe, tenants, challengeExpiry: expiry } = rooms;
  const presenter = { docsUrl: platform.config.docsUrl, tenantOf: tenants.byId };
  const { mendTools: tools, ...relaying } = wireRelay(platform, {
    ...rooms,
    client,
    presenter,
    countWaiting: wireWaitingCount(platform),
  });
  return {
    sealer: wireAuditSealer(platform),
    hourCounter: wireHourCounter(platform),
    ...wireWorkflowCommands(platform, { client, describe, presenter }),
    ...relaying,
    sweep: wireSweep(platform, { invariants: listInvariants(platform.config), tools }),
    expiryKeeper: wireExpiryKeeper(platform, { client, expiry }),
  };
}

/** Registers metrics that are read from the database at each scrape; every worker reports the same values. */
export function measureStanding(platform: Platform): void {
  const readings = createReadings({ isAway });
  measureBacklog(platform, readings);
  measureWorkflowCommands(platform, readings);
  measureInvariants(platform, readings, listInvariants(platform.config));
}

// The wiring of `countersign doctor`: what each room expects to run, and what mends it. Like compose.ts it must hold no rule of its own.

import type { Logger } from 'pino';
import { createExpiryService } from '../../authentication/challenges/challenge-expiry.service.ts';
import * as delegationExpiryStore from '../../authentication/delegations/delegation-expiry.store.ts';
import * as keyScheduleStore from '../../authentication/issuer/key-schedule.store.ts';
import * as anchorCheckStore from '../../identity/anchors/anchor-check.store.ts';
import * as rotationStore from '../../identity/keys/rotation.store.ts';
import { createAccountsCheck } from '../../operations/doctor/accounts.check.ts';
import { createChallengeExpiryCheck } from '../../operations/doctor/challenge-expiry.check.ts';
import { createDeliveryWorkflowCheck } from '../../operations/doctor/delivery-workflows.check.ts';
import { createDoctorService } from '../../operations/doctor/doctor.service.ts';
import {
  createEntityWorkflowCheck,
  type ListExpected,
} from '../../operations/doctor/entity-workflows.check.ts';
import type { Check } from '../../operations/doctor/finding.ts';
import { createFoundationCheck } from '../../operations/doctor/foundation.check.ts';
import { createSealedSecretsCheck } from '../../operations/doctor/sealed-secrets.check.ts';
import { createStuckWorkCheck } from '../../operations/doctor/stuck-work.check.ts';
import { KEPT_DAYS } from '../../operations/retention/retention.ts';
import type { Config } from '../../platform/config.ts';
import { newId } from '../../platform/database/ids.ts';
import { pendingMigrations } from '../../platform/database/migrate.ts';
import { reasonOf } from '../../platform/logging.ts';
import { createLazyConnection, createTemporalClient } from '../../platform/temporal/client.ts';
import { type EntityWorkflow, TASK_QUEUES } from '../../platform/temporal/names.ts';
import { ensureNamespace, readNamespace } from '../../platform/temporal/namespace.ts';
import { ensureSchedules, findSchedule } from '../../platform/temporal/schedules.ts';
import { createWorkerVersions } from '../../platform/temporal/worker-version.ts';
import { createWorkflowInspector } from '../../platform/temporal/workflow-inspection.client.ts';
import * as accounts from '../../webhooks/accounts/account.store.ts';
import * as endpointRecoveryStore from '../../webhooks/endpoints/endpoint-recovery.store.ts';
import * as store from '../../webhooks/relay/delivery-inspection.store.ts';
import { createDeliveryStarter } from '../../webhooks/relay/delivery-workflow.client.ts';
import * as relays from '../../webhooks/relay/relay.store.ts';
import { createSweepService } from '../../webhooks/relay/sweep.service.ts';
import * as bulkReplayStore from '../../webhooks/replays/bulk-replay.store.ts';
import * as signingSecretStore from '../../webhooks/subscriptions/signing-secret.store.ts';
import { composeCore } from './compose.ts';
import { composeOperators } from './compose-operators.ts';

/** Wires the examination; nothing is asked before `examine`. */
export function composeDoctor(config: Config, logger: Logger) {
  const core = composeCore(config, { logger, name: 'doctor' });
  const { database, commands } = core;
  const connection = createLazyConnection(config.temporal);
  const client = createTemporalClient(connection, config.temporal);
  const inspector = createWorkflowInspector({ client });
  const versions = createWorkerVersions({ connection, namespace: config.temporal.namespace });

  const sweep = createSweepService({
    database,
    starter: createDeliveryStarter({ client, taskQueues: TASK_QUEUES }),
    onFailure: (error) => logger.warn({ reason: reasonOf(error) }, 'a part of the sweep failed'),
  });

  const challengeExpiry = createExpiryService({ database, audit: core.audit });
  // Every type has its entry: what the doctor does not know of, nobody would miss.
  const expected: Readonly<Record<EntityWorkflow, ListExpected>> = {
    agentKeyRotation: rotationStore.listExpectedWorkflows,
    anchorVerification: anchorCheckStore.listExpectedWorkflows,
    endpointRecovery: endpointRecoveryStore.listExpectedWorkflows,
    bulkRecovery: bulkReplayStore.listExpectedWorkflows,
    webhookSecretRotation: signingSecretStore.listExpectedWorkflows,
    issuerKeyRotation: keyScheduleStore.listExpectedWorkflows,
    delegationExpiry: delegationExpiryStore.listExpectedWorkflows,
  };

  let reached: Promise<void> | undefined;
  const needing = (check: Check): Check => ({
    ...check,
    require: () => {
      reached ??= connection.ensureConnected();
      return reached;
    },
  });

  const checks = [
    createStuckWorkCheck({ database, store, commands, sweep }),
    createChallengeExpiryCheck({ findOverdue: challengeExpiry.findOverdue }),
    createSealedSecretsCheck(core.sealedSecrets),
    createAccountsCheck({ read: () => accounts.standing(database, KEPT_DAYS + 1) }),
    ...[
      createFoundationCheck({
        pendingMigrations: () => pendingMigrations(database.sequelize),
        readNamespace: () => readNamespace(connection, config.temporal),
        ensureNamespace: () => ensureNamespace(connection, config.temporal),
        findSchedule: () => findSchedule(client),
        ensureSchedules: () => ensureSchedules(client),
        inspector,
        readCurrentBuild: async () => (await versions.list()).current,
        taskQueues: TASK_QUEUES,
        keptDays: KEPT_DAYS,
      }),
      createDeliveryWorkflowCheck({
        database,
        store,
        inspector,
        restart: ({ id, generation }) =>
          relays.restart(database, { deliveryId: id, generation, outboxId: newId() }),
      }),
      ...Object.entries(expected).map(([workflow, listExpected]) =>
        createEntityWorkflowCheck({
          workflow: workflow as EntityWorkflow,
          listExpected,
          database,
          inspector,
          commands,
        }),
      ),
    ].map(needing),
  ];
  return {
    doctor: createDoctorService({ checks, reasonOf }),
    acts: composeOperators(core).acts,
    close: async () => {
      await connection.close();
      await core.close();
    },
  };
}

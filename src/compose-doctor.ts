// The wiring of `countersign doctor`: what each room expects to run, and what mends it. Like compose.ts it must hold no rule of its own.
import type { Logger } from 'pino';
import { createAnchorCheckStore } from './anchors/anchor-check.store.ts';
import { createExpiryService } from './challenges/expiry.service.ts';
import { createExpiryStore } from './challenges/expiry.store.ts';
import { composeCore } from './compose.ts';
import { composeOperators } from './compose-operators.ts';
import type { Config } from './config.ts';
import { newId } from './database/ids.ts';
import { pendingMigrations } from './database/migrate.ts';
import { createDelegationExpiryStore } from './delegations/delegation-expiry.store.ts';
import { createAccountsCheck } from './doctor/accounts.check.ts';
import { createChallengeExpiryCheck } from './doctor/challenge-expiry.check.ts';
import { createDeliveryWorkflowCheck } from './doctor/delivery-workflows.check.ts';
import { createDoctorService } from './doctor/doctor.service.ts';
import { createEntityWorkflowCheck, type ListExpected } from './doctor/entity-workflows.check.ts';
import type { Check } from './doctor/finding.ts';
import { createFoundationCheck } from './doctor/foundation.check.ts';
import { createSealedSecretsCheck } from './doctor/sealed-secrets.check.ts';
import { createStuckWorkCheck } from './doctor/stuck-work.check.ts';
import { createKeyScheduleStore } from './issuer/key-schedule.store.ts';
import { createRotationStore } from './keys/rotation.store.ts';
import { reasonOf } from './logging.ts';
import { KEPT_DAYS } from './retention/retention.ts';
import { createLazyConnection, createTemporalClient } from './temporal/client.ts';
import { type EntityWorkflow, TASK_QUEUES } from './temporal/names.ts';
import { ensureNamespace, readNamespace } from './temporal/namespace.ts';
import { ensureSchedules, findSchedule } from './temporal/schedules.ts';
import { createWorkerVersions } from './temporal/worker-version.ts';
import { createWorkflowInspector } from './temporal/workflow.inspector.ts';
import { createAccountStore } from './webhooks/accounts/account.store.ts';
import { createRecoveryStore } from './webhooks/lanes/recovery.store.ts';
import { createBulkRecoveryStore } from './webhooks/recoveries/recovery.store.ts';
import { createDeliveryStarter } from './webhooks/relay/delivery.starter.ts';
import { createDeliveryInspectionStore } from './webhooks/relay/delivery-inspection.store.ts';
import { createRelayStore } from './webhooks/relay/relay.store.ts';
import { createSweepService } from './webhooks/relay/sweep.service.ts';
import { createSweepStore } from './webhooks/relay/sweep.store.ts';
import { createSigningSecretStore } from './webhooks/subscriptions/signing-secret.store.ts';

/** Wires the examination; nothing is asked before `examine`. */
export function composeDoctor(config: Config, logger: Logger) {
  const core = composeCore(config, { logger, name: 'doctor' });
  const { database, commands } = core;
  const connection = createLazyConnection(config.temporal);
  const client = createTemporalClient(connection, config.temporal);
  const inspector = createWorkflowInspector({ client });
  const versions = createWorkerVersions({ connection, namespace: config.temporal.namespace });
  const store = createDeliveryInspectionStore();
  const relays = createRelayStore();
  const sweep = createSweepService({
    database,
    store: createSweepStore(),
    relays,
    starter: createDeliveryStarter({ client, taskQueues: TASK_QUEUES }),
    onFailure: (error) => logger.warn({ reason: reasonOf(error) }, 'a part of the sweep failed'),
  });
  const accounts = createAccountStore();
  const challengeExpiry = createExpiryService({ store: createExpiryStore(), database, audit: core.audit });
  // Every type has its entry: what the doctor does not know of, nobody would miss.
  const expected: Readonly<Record<EntityWorkflow, ListExpected>> = {
    agentKeyRotation: createRotationStore().listExpectedWorkflows,
    anchorVerification: createAnchorCheckStore().listExpectedWorkflows,
    endpointRecovery: createRecoveryStore().listExpectedWorkflows,
    bulkRecovery: createBulkRecoveryStore().listExpectedWorkflows,
    webhookSecretRotation: createSigningSecretStore().listExpectedWorkflows,
    issuerKeyRotation: createKeyScheduleStore().listExpectedWorkflows,
    delegationExpiry: createDelegationExpiryStore().listExpectedWorkflows,
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

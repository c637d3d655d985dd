// Wires `countersign doctor`: its checks, the expected workflows of each room, and the mends.
import type { Client } from '@temporalio/client';
import { pendingMigrations } from '../../platform/database/migrate.ts';
import { reasonOf } from '../../platform/logging.ts';
import type { Platform } from '../../platform/platform.ts';
import type { createLazyConnection } from '../../platform/temporal/client.ts';
import { type EntityWorkflow, TASK_QUEUES } from '../../platform/temporal/names.ts';
import { ensureNamespace, readNamespace } from '../../platform/temporal/namespace.ts';
import { ensureSchedules, findSchedule } from '../../platform/temporal/schedules.ts';
import { readCurrentBuild } from '../../platform/temporal/worker-version.ts';
import type { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import { createWorkflowInspector } from '../../platform/temporal/workflow-inspection.client.ts';
import type { wireRelayInspection } from '../../webhooks/relay/wire.ts';
import { KEPT_DAYS } from '../retention/retention.ts';
import { createAccountsCheck, type Standing } from './accounts.check.ts';
import { createChallengeExpiryCheck } from './challenge-expiry.check.ts';
import { createDatabaseRoleCheck } from './database-role.check.ts';
import * as databaseRoleStore from './database-role.store.ts';
import { createDeliveryWorkflowCheck } from './delivery-workflows.check.ts';
import { createDoctorService } from './doctor.service.ts';
import { createEntityWorkflowCheck, type ListExpected } from './entity-workflows.check.ts';
import type { Check } from './finding.ts';
import { createFoundationCheck } from './foundation.check.ts';
import { createIssuerKeysCheck } from './issuer-keys.check.ts';
import { createOpenTransactionCheck } from './open-transaction.check.ts';
import { createSealedSecretsCheck } from './sealed-secrets.check.ts';
import { createStuckWorkCheck } from './stuck-work.check.ts';
import { createTransactionIdsCheck } from './transaction-ids.check.ts';
import * as transactionIdsStore from './transaction-ids.store.ts';

/**
 * Wires the examination; it opens no connection before `examine`.
 * @param rooms.connection, rooms.client opened when a check first needs Temporal
 * @param rooms.expected the entities that should have a workflow, by type; every type is required, because its missing
 *   workflows would otherwise go unnoticed
 */
export function wireDoctor(
  { config, database }: Platform,
  {
    connection,
    client,
    commands,
    expected,
    relay,
    sealedSecrets,
    challengeExpiry,
    openTransactions,
    readStanding,
    issuerKeys,
  }: {
    connection: ReturnType<typeof createLazyConnection>;
    client: Client;
    commands: WorkflowCommandService;
    expected: Readonly<Record<EntityWorkflow, ListExpected>>;
    relay: ReturnType<typeof wireRelayInspection>;
    sealedSecrets: Parameters<typeof createSealedSecretsCheck>[0];
    challengeExpiry: Parameters<typeof createChallengeExpiryCheck>[0];
    openTransactions: Parameters<typeof createOpenTransactionCheck>[0];
    issuerKeys: Parameters<typeof createIssuerKeysCheck>[0];
    readStanding: () => Promise<Standing>;
  },
) {
  const { namespace } = config.temporal;
  const { store, sweep, restart } = relay;
  const inspector = createWorkflowInspector({ client });

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
    createTransactionIdsCheck({ database, store: transactionIdsStore }),
    createOpenTransactionCheck(openTransactions),
    createDatabaseRoleCheck({ database, store: databaseRoleStore }),
    createChallengeExpiryCheck(challengeExpiry),
    createSealedSecretsCheck(sealedSecrets),
    createAccountsCheck({ read: readStanding }),
    ...[
      createFoundationCheck({
        pendingMigrations: () => pendingMigrations(database),
        readNamespace: () => readNamespace(connection, config.temporal),
        ensureNamespace: () => ensureNamespace(connection, config.temporal),
        findSchedule: () => findSchedule(client),
        ensureSchedules: () => ensureSchedules(client),
        inspector,
        readCurrentBuild: () => readCurrentBuild({ connection, namespace }),
        taskQueues: TASK_QUEUES,
        keptDays: KEPT_DAYS,
      }),
      createDeliveryWorkflowCheck({ database, store, inspector, restart }),
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
    createIssuerKeysCheck(issuerKeys),
  ];
  return createDoctorService({ checks, reasonOf });
}

// Wires the rooms of `countersign doctor`, in the order of the wings.
import { findOldestOpen } from '../../audit/open-transaction.store.ts';
import { createExpiryService } from '../../authentication/challenges/challenge-expiry.service.ts';
import * as delegationStore from '../../authentication/delegations/delegation-expiry.store.ts';
import * as issuerKeyStore from '../../authentication/issuer/key-schedule.store.ts';
import { wireIssuerInspection } from '../../authentication/trusted-issuers/wire.ts';
import * as anchorStore from '../../identity/anchors/anchor-check.store.ts';
import * as rotationStore from '../../identity/keys/rotation.store.ts';
import { wireDoctor } from '../../operations/doctor/wire.ts';
import { createSealedSecretService } from '../../operations/master-keys/sealed-secret.service.ts';
import { createOperatorActService } from '../../operations/operators/operator-act.service.ts';
import { KEPT_DAYS } from '../../operations/retention/retention.ts';
import type { Config } from '../../platform/config.ts';
import { SILENT } from '../../platform/logging.ts';
import { openPlatform } from '../../platform/platform.ts';
import { createLazyConnection, createTemporalClient } from '../../platform/temporal/client.ts';
import { createWorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import * as accountStore from '../../webhooks/accounts/account.store.ts';
import * as endpointStore from '../../webhooks/endpoints/endpoint-recovery.store.ts';
import { wireRecords } from '../../webhooks/intake/wire.ts';
import * as receiptStore from '../../webhooks/receipts/receipt.store.ts';
import { wireRelayInspection } from '../../webhooks/relay/wire.ts';
import * as replayStore from '../../webhooks/replays/bulk-replay.store.ts';
import * as secretStore from '../../webhooks/subscriptions/signing-secret.store.ts';
import { SEALED_COLUMNS } from './sealed-columns.ts';

/** Wires `countersign doctor`; it sends no query before `examine`. */
export function wireExamination(config: Config) {
  const platform = openPlatform(config, { logger: SILENT, name: 'doctor' });
  const connection = createLazyConnection(config.temporal);
  const client = createTemporalClient(connection, config.temporal);
  const { database } = platform;
  const records = wireRecords(platform);
  const issuers = wireIssuerInspection(platform);
  const doctor = wireDoctor(platform, {
    connection,
    client,
    commands: createWorkflowCommandService(),
    expected: {
      agentKeyRotation: rotationStore.listExpectedWorkflows,
      anchorVerification: anchorStore.listExpectedWorkflows,
      endpointRecovery: endpointStore.listExpectedWorkflows,
      bulkReplay: replayStore.listExpectedWorkflows,
      webhookSecretRotation: secretStore.listExpectedWorkflows,
      issuerKeyRotation: issuerKeyStore.listExpectedWorkflows,
      delegationExpiry: delegationStore.listExpectedWorkflows,
      accessReceipt: receiptStore.listExpectedWorkflows,
    },
    relay: wireRelayInspection(platform, { client }),
    sealedSecrets: createSealedSecretService({
      database,
      masterKeys: config.masterKeys,
      columns: SEALED_COLUMNS,
    }),
    challengeExpiry: createExpiryService({ database, records }),
    openTransactions: { findOldestOpen: () => findOldestOpen(database) },
    issuerKeys: issuers,
    readStanding: () => accountStore.sum(database, KEPT_DAYS + 1),
  });
  return {
    doctor,
    acts: createOperatorActService({ database, records }),
    close: async () => {
      await connection.close();
      await issuers.close();
      await platform.close();
    },
  };
}

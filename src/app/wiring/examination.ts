// Wires the rooms of `countersign doctor`, in the order of the wings.
import { wireChallengeExpiry } from '../../authentication/challenges/wire.ts';
import { listDelegations } from '../../authentication/delegations/wire.ts';
import { listIssuerKeys } from '../../authentication/issuer/wire.ts';
import { wireIssuerInspection } from '../../authentication/trusted-issuers/wire.ts';
import { listWorkloadAddresses } from '../../authentication/workload-issuers/wire.ts';
import { listAnchors } from '../../identity/anchors/wire.ts';
import { listRotations } from '../../identity/keys/wire.ts';
import { wireDoctor } from '../../operations/doctor/wire.ts';
import { wireSealedSecrets } from '../../operations/master-keys/wire.ts';
import { wireOperatorActs } from '../../operations/operators/wire.ts';
import type { Config } from '../../platform/config.ts';
import { SILENT } from '../../platform/logging.ts';
import { openPlatform } from '../../platform/platform.ts';
import { createLazyConnection, createTemporalClient } from '../../platform/temporal/client.ts';
import { createWorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import { wireAccounts } from '../../webhooks/accounts/wire.ts';
import { listFailingEndpoints } from '../../webhooks/endpoints/wire.ts';
import { wireRecords } from '../../webhooks/intake/wire.ts';
import { listReceipts } from '../../webhooks/receipts/wire.ts';
import { wireRelayInspection } from '../../webhooks/relay/wire.ts';
import { listBulkReplays } from '../../webhooks/replays/wire.ts';
import { listSecretRotations } from '../../webhooks/subscriptions/wire.ts';
import { SEALED_COLUMNS } from './sealed-columns.ts';

/** Wires `countersign doctor`; it sends no query before `examine`. */
export function wireExamination(config: Config) {
  const platform = openPlatform(config, { logger: SILENT, name: 'doctor' });
  const connection = createLazyConnection(config.temporal);
  const client = createTemporalClient(connection, config.temporal);
  const records = wireRecords(platform);
  const issuers = wireIssuerInspection(platform);
  const doctor = wireDoctor(platform, {
    connection,
    client,
    commands: createWorkflowCommandService(),
    expected: {
      agentKeyRotation: listRotations,
      anchorVerification: listAnchors,
      endpointRecovery: listFailingEndpoints,
      bulkReplay: listBulkReplays,
      webhookSecretRotation: listSecretRotations,
      issuerKeyRotation: listIssuerKeys,
      delegationExpiry: listDelegations,
      accessReceipt: listReceipts,
    },
    relay: wireRelayInspection(platform, { client }),
    sealedSecrets: wireSealedSecrets(platform, { columns: SEALED_COLUMNS }),
    challengeExpiry: wireChallengeExpiry(platform, { records }),
    issuerKeys: {
      listAddresses: async () =>
        (await Promise.all([issuers.listAddresses(), listWorkloadAddresses(platform)])).flat(),
      fetchKeys: issuers.fetchKeys,
    },
    readStanding: wireAccounts(platform).readStanding,
  });
  return {
    doctor,
    acts: wireOperatorActs(platform, { records }),
    close: async () => {
      await connection.close();
      await issuers.close();
      await platform.close();
    },
  };
}

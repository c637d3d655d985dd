// Wires the rooms of the commands, in the order of the wings.
import type { Logger } from 'pino';
import { wireAuditVerification } from '../../audit/wire.ts';
import { wireChallengeExpiry } from '../../authentication/challenges/wire.ts';
import { listDelegations } from '../../authentication/delegations/wire.ts';
import { listIssuerKeys, wireIssuer } from '../../authentication/issuer/wire.ts';
import { wireRevocations } from '../../authentication/tokens/wire.ts';
import { wireRecords } from '../../events/wire.ts';
import { listAnchors } from '../../identity/anchors/wire.ts';
import { wireApplications } from '../../identity/applications/wire.ts';
import { listRotations } from '../../identity/keys/wire.ts';
import { wireProvisioning, wireTenants } from '../../identity/tenants/wire.ts';
import { wireDoctor } from '../../operations/doctor/wire.ts';
import { wireSealedSecrets } from '../../operations/master-keys/wire.ts';
import { wireOperatorActs, wireOperators } from '../../operations/operators/wire.ts';
import type { Config } from '../../platform/config.ts';
import { createLogger } from '../../platform/logging.ts';
import { openPlatform, type Platform } from '../../platform/platform.ts';
import { createLazyConnection, createTemporalClient } from '../../platform/temporal/client.ts';
import { createWorkerVersions } from '../../platform/temporal/worker-version.ts';
import { createWorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import { wireAccounts } from '../../webhooks/accounts/wire.ts';
import { listFailingEndpoints, wireEndpoints } from '../../webhooks/endpoints/wire.ts';
import { listReceipts, wireReceiptOpening } from '../../webhooks/receipts/wire.ts';
import { wireRelayInspection } from '../../webhooks/relay/wire.ts';
import { listBulkReplays } from '../../webhooks/replays/wire.ts';
import { listSecretRotations } from '../../webhooks/subscriptions/wire.ts';
import { SEALED_COLUMNS } from './sealed-columns.ts';

/** Wires the commands for tenants, applications, secrets and the audit log. */
export function wireManagement(config: Config, logger: Logger) {
  const platform = openPlatform(config, { logger, name: 'command' });
  const commands = createWorkflowCommandService();
  const records = wireRecords(platform, { receipts: wireReceiptOpening({ commands }) });
  const shared = { records, commands };
  const revocations = wireRevocations(platform);
  const { issuer, issuerKeys } = wireIssuer(platform, { ...shared, revocations });
  const { tenants } = wireTenants(platform, { ...shared, issuerKeys });
  const { applications } = wireApplications(platform, { ...shared, tokens: revocations });
  const provisioning = wireProvisioning(platform, { tenants, applications });
  const endpoints = wireEndpoints(platform, shared);
  const acts = wireOperatorActs(platform, shared);
  return {
    issuer,
    tenants,
    applications,
    provisioning,
    acts,
    ...wireOperators(platform, { ...endpoints, tenants, revocations, acts }),
    sealedSecrets: wireSealedSecrets(platform, { columns: SEALED_COLUMNS }),
    auditVerification: wireAuditVerification(platform),
    close: async () => {
      await revocations.close();
      await platform.close();
    },
  };
}

/** Wires `countersign doctor`; it sends no query before `examine`. */
export function wireExamination(config: Config, logger: Logger) {
  const platform = openPlatform(config, { logger, name: 'doctor' });
  const connection = createLazyConnection(config.temporal);
  const client = createTemporalClient(connection, config.temporal);
  const records = wireRecords(platform);
  const doctor = wireDoctor(platform, {
    connection,
    client,
    commands: createWorkflowCommandService(),
    expected: {
      agentKeyRotation: listRotations,
      anchorVerification: listAnchors,
      endpointRecovery: listFailingEndpoints,
      bulkRecovery: listBulkReplays,
      webhookSecretRotation: listSecretRotations,
      issuerKeyRotation: listIssuerKeys,
      delegationExpiry: listDelegations,
      accessReceipt: listReceipts,
    },
    relay: wireRelayInspection(platform, { client }),
    sealedSecrets: wireSealedSecrets(platform, { columns: SEALED_COLUMNS }),
    challengeExpiry: wireChallengeExpiry(platform, { records }),
    readStanding: wireAccounts(platform).readStanding,
  });
  return {
    doctor,
    acts: wireOperatorActs(platform, { records }),
    close: async () => {
      await connection.close();
      await platform.close();
    },
  };
}

/** Wires `countersign worker-version`, which needs no master key. Only commands that write call `openActs`. */
export function wireWorkerVersions(config: Config) {
  const { namespace } = config.temporal;
  const connection = createLazyConnection(config.temporal);
  let platform: Platform | undefined;
  return {
    versions: createWorkerVersions({ connection, namespace }),
    /** Opens the log of operator acts. @throws ConfigError without a database */
    openActs: () => {
      const logger = createLogger({ ...config, logLevel: 'silent' });
      platform = openPlatform(config, { logger, name: 'command' });
      return wireOperatorActs(platform, { records: wireRecords(platform) });
    },
    close: async () => {
      await connection.close();
      await platform?.close();
    },
  };
}

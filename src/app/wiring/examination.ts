// Wires `countersign doctor`: its checks, the expected workflows of each room, and the mends.
import * as delegationStore from '../../authentication/delegations/delegation-expiry.store.ts';
import * as issuerKeyStore from '../../authentication/issuer/key-schedule.store.ts';
import { wireIssuerInspection } from '../../authentication/trusted-issuers/wire.ts';
import * as anchorStore from '../../identity/anchors/anchor-check.store.ts';
import * as rotationStore from '../../identity/keys/rotation.store.ts';
import { createDeliveryWorkflowCheck } from '../../operations/doctor/delivery-workflows.check.ts';
import { DoctorService } from '../../operations/doctor/doctor.service.ts';
import {
  createEntityWorkflowCheck,
  type ListExpected,
} from '../../operations/doctor/entity-workflows.check.ts';
import type { Check } from '../../operations/doctor/finding.ts';
import { createFoundationCheck } from '../../operations/doctor/foundation.check.ts';
import { createIssuerKeysCheck } from '../../operations/doctor/issuer-keys.check.ts';
import * as tenantEndStore from '../../operations/erasure/tenant-end.store.ts';
import { createInvariantCheck } from '../../operations/invariants/invariant.check.ts';
import { OperatorActService } from '../../operations/operators/operator-act.service.ts';
import type { Config } from '../../platform/config.ts';
import { SILENT } from '../../platform/logging.ts';
import { openPlatform } from '../../platform/opening/platform.ts';
import { createLazyConnection, createTemporalClient } from '../../platform/temporal/client.ts';
import type { EntityWorkflow } from '../../platform/temporal/names.ts';
import { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import { createWorkflowInspector } from '../../platform/temporal/workflow-inspection.client.ts';
import * as endpointStore from '../../webhooks/endpoints/endpoint-recovery.store.ts';
import { wireRecords } from '../../webhooks/intake/wire.ts';
import * as receiptStore from '../../webhooks/receipts/receipt.store.ts';
import { wireRelayInspection } from '../../webhooks/relay/wire.ts';
import * as replayStore from '../../webhooks/replays/bulk-replay.store.ts';
import * as secretStore from '../../webhooks/subscriptions/signing-secret.store.ts';
import { listInvariants } from './invariants.ts';

/** The entities that should have a workflow. A type that is not here would miss its workflows unnoticed. */
const EXPECTED: Readonly<Record<EntityWorkflow, ListExpected>> = {
  agentKeyRotation: rotationStore.listExpectedWorkflows,
  anchorVerification: anchorStore.listExpectedWorkflows,
  endpointRecovery: endpointStore.listExpectedWorkflows,
  bulkReplay: replayStore.listExpectedWorkflows,
  webhookSecretRotation: secretStore.listExpectedWorkflows,
  issuerKeyRotation: issuerKeyStore.listExpectedWorkflows,
  delegationExpiry: delegationStore.listExpectedWorkflows,
  accessReceipt: receiptStore.listExpectedWorkflows,
  tenantErasure: tenantEndStore.listExpectedWorkflows,
};

/** Wires `countersign doctor`; it opens no connection before `examine`. */
export function wireExamination(config: Config) {
  const platform = openPlatform(config, { logger: SILENT, name: 'doctor' });
  const { database } = platform;
  const { temporal } = config;
  const connection = createLazyConnection(temporal);
  const client = createTemporalClient(connection, temporal);
  const inspector = createWorkflowInspector({ client });
  const commands = new WorkflowCommandService();
  const records = wireRecords(platform);
  const issuers = wireIssuerInspection(platform);
  const { mendTools: tools, ...relay } = wireRelayInspection(platform, { client });
  const shared = { database, inspector, commands };

  let reached: Promise<void> | undefined;
  const needing = (check: Check): Check => ({
    ...check,
    require: () => {
      reached ??= connection.ensureConnected();
      return reached;
    },
  });
  const ofTemporal = [
    createFoundationCheck({ ...shared, connection, client, namespace: temporal.namespace }),
    createDeliveryWorkflowCheck({ ...shared, ...relay }),
    ...Object.entries(EXPECTED).map(([workflow, listExpected]) =>
      createEntityWorkflowCheck({ ...shared, workflow: workflow as EntityWorkflow, listExpected }),
    ),
  ];
  return {
    doctor: new DoctorService({
      checks: [
        ...listInvariants(config).map((invariant) => createInvariantCheck(invariant, { database, tools })),
        ...ofTemporal.map(needing),
        createIssuerKeysCheck(issuers),
      ],
    }),
    acts: new OperatorActService({ database, records }),
    close: async () => {
      await connection.close();
      await issuers.close();
      await platform.close();
    },
  };
}

// Wires the rooms of the commands of management, in the order of the wings.
import { wireAuditVerification } from '../../audit/wire.ts';
import { wireConsoleCodes } from '../../authentication/console/wire.ts';
import { wireIssuer } from '../../authentication/issuer/wire.ts';
import { wireRevocations } from '../../authentication/tokens/wire.ts';
import { wireApplications } from '../../identity/applications/wire.ts';
import { wireProvisioning, wireTenants } from '../../identity/tenants/wire.ts';
import { wireSealedSecrets } from '../../operations/master-keys/wire.ts';
import { wireOperatedDeliveries, wireOperatorActs, wireOperators } from '../../operations/operators/wire.ts';
import type { Config } from '../../platform/config.ts';
import { type Log, SILENT } from '../../platform/logging.ts';
import { openPlatform } from '../../platform/platform.ts';
import { createWorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import { wireDeliveries } from '../../webhooks/deliveries/wire.ts';
import { wireEndpoints } from '../../webhooks/endpoints/wire.ts';
import { wireRecords } from '../../webhooks/intake/wire.ts';
import { wireReceiptOpening } from '../../webhooks/receipts/wire.ts';
import { SEALED_COLUMNS } from './sealed-columns.ts';

/** Wires the commands for tenants, applications, secrets and the audit log. */
export function wireManagement(config: Config, logger: Log = SILENT) {
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
  const { deliveries } = wireDeliveries(platform, { ...shared, ...endpoints });
  return {
    issuer,
    tenants,
    applications,
    provisioning,
    acts,
    ...wireOperatedDeliveries(platform, { deliveries, acts }),
    ...wireConsoleCodes(platform, { records, applications }),
    ...wireOperators(platform, { ...endpoints, tenants, revocations, acts }),
    sealedSecrets: wireSealedSecrets(platform, { columns: SEALED_COLUMNS }),
    auditVerification: wireAuditVerification(platform),
    close: async () => {
      await revocations.close();
      await platform.close();
    },
  };
}

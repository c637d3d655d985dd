// Wires the services of the commands of management, in the order of the wings.
import { createAuditVerificationService } from '../../audit/audit-verification.service.ts';
import { createErasureCertificateService } from '../../audit/erasure.service.ts';
import { createVerificationStore } from '../../audit/verification.store.ts';
import { createConsoleCodeService } from '../../authentication/console/code.service.ts';
import { wireIssuers } from '../../authentication/issuer/wire.ts';
import { wireRevocations } from '../../authentication/tokens/wire.ts';
import { createUserService } from '../../authentication/users/user.service.ts';
import { createApplicationService } from '../../identity/applications/application.service.ts';
import { createProvisionService } from '../../identity/tenants/provision.service.ts';
import { createTenantService } from '../../identity/tenants/tenant.service.ts';
import { boundsOf } from '../../identity/tenants/tenant-retention.ts';
import { findAhead } from '../../operations/doctor/cluster.store.ts';
import { createTenantEndService } from '../../operations/erasure/tenant-end.service.ts';
import { isEnding } from '../../operations/erasure/tenant-end.store.ts';
import { createTenantExportService } from '../../operations/erasure/tenant-export.service.ts';
import { createSealedSecretService } from '../../operations/master-keys/sealed-secret.service.ts';
import { createHostService } from '../../operations/operators/host.service.ts';
import { createOperatedDeliveryService } from '../../operations/operators/operated-delivery.service.ts';
import { createOperatorActService } from '../../operations/operators/operator-act.service.ts';
import { createSuspensionService } from '../../operations/operators/suspension.service.ts';
import { createRestoreCheckService } from '../../operations/restores/restore-check.service.ts';
import type { Config } from '../../platform/config.ts';
import { type Log, SILENT } from '../../platform/logging.ts';
import { openPatientDatabase } from '../../platform/open-database.ts';
import { openPlatform } from '../../platform/platform.ts';
import { createWorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import { createDeliveryService } from '../../webhooks/deliveries/delivery.service.ts';
import { wireEndpoints } from '../../webhooks/endpoints/wire.ts';
import { wireEventNews, wireRecords } from '../../webhooks/intake/wire.ts';
import { createReceiptOpening } from '../../webhooks/receipts/receipt-opening.service.ts';
import { SEALED_COLUMNS } from './sealed-columns.ts';

/** Wires the commands for tenants, applications, secrets and the audit log. */
export function wireManagement(config: Config, logger: Log = SILENT) {
  const platform = openPlatform(config, { logger, name: 'command' });
  const { database, notifier } = platform;
  const { masterKeys, auditKeys, defaultTenant, temporal: workflows } = config;
  const commands = createWorkflowCommandService();
  const news = wireEventNews(platform);
  const records = wireRecords(platform, { ...news, receipts: createReceiptOpening({ commands }) });
  const shared = { database, notifier, commands, records };
  const revocations = wireRevocations(platform);
  const { issuer, issuerKeys } = wireIssuers(platform, { ...shared, revocations });
  const tenants = createTenantService({
    ...shared,
    issuerKeys,
    addresses: config,
    retention: boundsOf(config),
    subscriptionLimit: config.subscriptionLimit,
  });
  const applications = createApplicationService({ ...shared, tokens: revocations });
  const { endpoints, hostHolds } = wireEndpoints(platform, shared);
  const acts = createOperatorActService(shared);
  const suspensions = createSuspensionService({ database, tenants, revocations, endpoints, acts, isEnding });
  const patient = openPatientDatabase(config, platform);
  const deliveries = createDeliveryService({ ...shared, endpoints });
  const consoleCodes = createConsoleCodeService({ database, records, applications });
  return {
    issuer,
    tenants,
    applications,
    acts,
    workflows,
    defaultTenant,
    provisioning: createProvisionService({ database, tenants, applications }),
    operatedDeliveries: createOperatedDeliveryService({ database, deliveries, acts }),
    consoleCodes,
    restores: createRestoreCheckService({ database: patient, findAhead, tenants, consoleCodes, acts }),
    suspensions,
    ends: createTenantEndService({ ...shared, tenants, suspensions, acts }),
    exports: createTenantExportService({
      database: patient,
      tenants,
      acts,
      users: createUserService({ database: patient, masterKeys }),
    }),
    certificates: createErasureCertificateService({ database, auditKeys }),
    hosts: createHostService({ database, hosts: hostHolds, acts }),
    sealedSecrets: createSealedSecretService({ database, masterKeys, columns: SEALED_COLUMNS }),
    auditVerification: createAuditVerificationService({
      database,
      auditKeys,
      store: createVerificationStore({ database }),
    }),
    close: async () => {
      await Promise.all([revocations.close(), patient.close()]);
      await platform.close();
    },
  };
}

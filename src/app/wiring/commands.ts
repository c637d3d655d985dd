// Wires the services of the commands of management, in the order of the wings.
import { AuditVerificationService } from '../../audit/audit-verification.service.ts';
import { ErasureCertificateService } from '../../audit/erasure.service.ts';
import { createVerificationStore } from '../../audit/verification.store.ts';
import { ConsoleCodeService } from '../../authentication/console/code.service.ts';
import { wireIssuers } from '../../authentication/issuer/wire.ts';
import { wireRevocations } from '../../authentication/tokens/wire.ts';
import { UserService } from '../../authentication/users/user.service.ts';
import { ApplicationService } from '../../identity/applications/application.service.ts';
import { ProvisionService } from '../../identity/tenants/provision.service.ts';
import { TenantService } from '../../identity/tenants/tenant.service.ts';
import { boundsOf } from '../../identity/tenants/tenant-retention.ts';
import { TenantEndService } from '../../operations/erasure/tenant-end.service.ts';
import { isEnding } from '../../operations/erasure/tenant-end.store.ts';
import { TenantExportService } from '../../operations/erasure/tenant-export.service.ts';
import { findAhead } from '../../operations/invariants/cluster.store.ts';
import { SealedSecretService } from '../../operations/master-keys/sealed-secret.service.ts';
import { HostService } from '../../operations/operators/host.service.ts';
import { OperatedDeliveryService } from '../../operations/operators/operated-delivery.service.ts';
import { OperatorActService } from '../../operations/operators/operator-act.service.ts';
import { SuspensionService } from '../../operations/operators/suspension.service.ts';
import { RestoreCheckService } from '../../operations/restores/restore-check.service.ts';
import type { Config } from '../../platform/config.ts';
import { type Log, SILENT } from '../../platform/logging.ts';
import { openPatientDatabase } from '../../platform/opening/open-database.ts';
import { openPlatform } from '../../platform/opening/platform.ts';
import { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import { DeliveryService } from '../../webhooks/deliveries/delivery.service.ts';
import { wireEndpoints } from '../../webhooks/endpoints/wire.ts';
import { wireEventNews, wireRecords } from '../../webhooks/intake/wire.ts';
import { ReceiptOpening } from '../../webhooks/receipts/receipt-opening.service.ts';
import { SEALED_COLUMNS } from './sealed-columns.ts';

/** Wires the commands for tenants, applications, secrets and the audit log. */
export function wireManagement(config: Config, logger: Log = SILENT) {
  const platform = openPlatform(config, { logger, name: 'command' });
  const { database, notifier } = platform;
  const { masterKeys, auditKeys, defaultTenant, temporal: workflows } = config;
  const commands = new WorkflowCommandService();
  const news = wireEventNews(platform);
  const records = wireRecords(platform, { ...news, receipts: new ReceiptOpening({ commands }) });
  const shared = { database, notifier, commands, records };
  const revocations = wireRevocations(platform);
  const { issuer, issuerKeys } = wireIssuers(platform, { ...shared, revocations });
  const tenants = new TenantService({
    ...shared,
    issuerKeys,
    addresses: config,
    retention: boundsOf(config),
    subscriptionLimit: config.subscriptionLimit,
  });
  const applications = new ApplicationService({ ...shared, tokens: revocations });
  const { endpoints, hostHolds } = wireEndpoints(platform, shared);
  const acts = new OperatorActService(shared);
  const suspensions = new SuspensionService({ database, tenants, revocations, endpoints, acts, isEnding });
  const patient = openPatientDatabase(config, platform);
  const deliveries = new DeliveryService({ ...shared, endpoints });
  const consoleCodes = new ConsoleCodeService({ database, records, applications });
  return {
    issuer,
    tenants,
    applications,
    acts,
    workflows,
    defaultTenant,
    provisioning: new ProvisionService({ database, tenants, applications }),
    operatedDeliveries: new OperatedDeliveryService({ database, deliveries, acts }),
    consoleCodes,
    restores: new RestoreCheckService({ database: patient, findAhead, tenants, consoleCodes, acts }),
    suspensions,
    ends: new TenantEndService({ ...shared, tenants, suspensions, acts }),
    exports: new TenantExportService({
      database: patient,
      tenants,
      acts,
      users: new UserService({ database: patient, masterKeys }),
    }),
    certificates: new ErasureCertificateService({ database, auditKeys }),
    hosts: new HostService({ database, hosts: hostHolds, acts, tenants }),
    sealedSecrets: new SealedSecretService({ database, masterKeys, columns: SEALED_COLUMNS }),
    auditVerification: new AuditVerificationService({
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

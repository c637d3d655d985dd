// Wires the erasure of tenants in a worker, with a pool that connects when a tenant is erased.
import { ErasureCertificateService } from '../../audit/erasure.service.ts';
import type { TenantService } from '../../identity/tenants/tenant.service.ts';
import { openPatientDatabase } from '../../platform/opening/open-database.ts';
import type { Platform } from '../../platform/opening/platform.ts';
import { createLazyConnection, createTemporalClient } from '../../platform/temporal/client.ts';
import { TenantErasureService } from './tenant-erasure.service.ts';
import { createTenantHistories } from './tenant-history.client.ts';

export function wireErasure(
  { config, log }: Pick<Platform, 'config' | 'log'>,
  { tenants }: { tenants: Pick<TenantService, 'lockById' | 'remove'> },
) {
  const database = openPatientDatabase(config, { log });
  const connection = createLazyConnection(config.temporal);
  const histories = createTenantHistories({ client: createTemporalClient(connection, config.temporal) });
  const certificates = new ErasureCertificateService({ database, auditKeys: config.auditKeys });
  return {
    tenantErasure: new TenantErasureService({ database, tenants, certificates, histories }),
    close: () => Promise.allSettled([connection.close(), database.close()]),
  };
}

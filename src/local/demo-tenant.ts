// The tenant of `npm start`: made on the first start, with its credentials in a file that only its owner may read.
import { join } from 'node:path';
import type { ProvisionService } from '../tenants/provision.service.ts';
import type { TenantService } from '../tenants/tenant.service.ts';
import { readPrivateFile, writePrivateFile } from './private-file.ts';

type Credentials = Awaited<ReturnType<ProvisionService['provision']>>;

/**
 * Makes the tenant if it is not there, and lets its address and its file follow the settings.
 * @param services.forgotten makes new credentials for a tenant whose file is gone
 * @returns what the operator should be told, a line each
 */
export async function ensureDemoTenant({
  dataDir,
  slug,
  tenants,
  provisioning,
  renew,
}: {
  dataDir: string;
  slug: string;
  tenants: Pick<TenantService, 'bySlug' | 'ensureAddress'>;
  provisioning: ProvisionService;
  /** Makes further credentials for a tenant whose file was lost. */
  renew: (slug: string) => Promise<Pick<Credentials, 'client_id' | 'client_secret'>>;
}): Promise<string[]> {
  const file = join(dataDir, 'demo-tenant.json');
  const moved = await tenants.ensureAddress(slug);
  const tenant = await tenants.bySlug(slug);
  if (tenant === undefined) {
    await write(file, await provisioning.provision({ slug, name: 'Demo' }));
    return [`Created the tenant ${slug}; its credentials are in ${file}.`];
  }
  const addresses = { tenant_id: tenant.id, slug, base_url: tenant.baseUrl, issuer_url: tenant.issuerUrl };
  const kept = await readPrivateFile(file);
  if (kept === null) {
    await write(file, { ...addresses, ...(await renew(slug)) });
    return [`${file} was gone: the tenant ${slug} has a further application now.`];
  }
  if (!moved) return [];
  await write(file, { ...(JSON.parse(kept) as Credentials), ...addresses });
  return [`The tenant ${slug} moved to ${tenant.baseUrl}; tokens of before are refused.`];
}

async function write(file: string, credentials: Credentials): Promise<void> {
  await writePrivateFile(file, `${JSON.stringify(credentials, null, 2)}\n`);
}

// The tenant of `npm start`: created on the first start, with its credentials in a file that only its owner may read.
import { join } from 'node:path';
import { z } from 'zod';
import { operatorContext } from '../../audit/audit.ts';
import { loadConfig } from '../../platform/config.ts';
import type { Tenant } from '../../platform/context.ts';
import { hashesEqual, hashSecret } from '../../platform/crypto/opaque-secret.node.ts';
import { newId } from '../../platform/database/ids.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { parseJson } from '../../platform/json-values.ts';
import { createLogger } from '../../platform/logger.ts';
import { APPLICATION_SCOPES } from '../../platform/scopes.ts';
import { refuseForeignMasterKey } from '../start-checks.ts';
import { wireManagement } from '../wiring/commands.ts';
import { readPrivateFile, writePrivateFile } from './private-file.ts';

type Services = ReturnType<typeof wireManagement>;
type Credentials = Awaited<ReturnType<Services['provisioning']['provision']>>;
type Client = Pick<Credentials, 'client_id' | 'client_secret'>;

/** In the data folder. */
const CREDENTIALS = 'demo-tenant.json';

const clientSchema = z.object({ client_id: z.string(), client_secret: z.string() });

/** `lines` are for the operator. `consoleLink` signs in to the console of the default tenant, once. */
export type PreparedTenant = { readonly lines: readonly string[]; readonly consoleLink: string | null };

/**
 * Creates or updates the tenants of a local stack as its settings require.
 * @param environment the variables of the roles
 * @throws ConfigError when the master key does not fit the database
 */
export async function prepareDemoTenant(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<PreparedTenant> {
  const config = loadConfig(environment, { role: 'command' });
  const services = wireManagement(config, createLogger({ ...config, logLevel: 'warn' }));
  try {
    await refuseForeignMasterKey(services);
    const { dataDir, defaultTenant: slug } = config;
    if (slug === undefined) return { lines: [], consoleLink: null };
    const lines = await ensureDemoTenant({ dataDir, slug, ...services });
    const kept = readClient((await readPrivateFile(join(dataDir, CREDENTIALS))) ?? '');
    return { lines, consoleLink: await makeConsoleLink(services, slug, kept?.client_id) };
  } finally {
    await services.close();
  }
}

/**
 * @param clientId the application of the credentials file: what the link can do is what that file can do
 * @returns null where the tenant is suspended, or no application of it is for the console
 */
async function makeConsoleLink(
  { tenants, consoleCodes }: Pick<Services, 'tenants' | 'consoleCodes'>,
  slug: string,
  clientId: string | undefined,
): Promise<string | null> {
  const tenant = await tenants.bySlug(slug);
  if (tenant === undefined || tenant.suspended) return null;
  try {
    return (await consoleCodes.makeLink(operatorContext(tenant, newId()), clientId)).url;
  } catch (error) {
    if (error instanceof ServiceError) return null;
    throw error;
  }
}

/**
 * Gives all tenants the addresses of the settings, creates the default tenant if it is missing, and writes its
 * credentials file anew when those credentials no longer work.
 * @returns messages for the operator, one line each
 */
export async function ensureDemoTenant({
  dataDir,
  slug,
  tenants,
  applications,
  provisioning,
}: Pick<Services, 'tenants' | 'applications' | 'provisioning'> & {
  dataDir: string;
  slug: string;
}): Promise<string[]> {
  const file = join(dataDir, CREDENTIALS);
  const lines = (await tenants.moveAll()).map(
    (moved) =>
      `The tenant ${moved.slug} moved from ${moved.storedUrl} to ${moved.configuredUrl}; tokens of before are refused.`,
  );
  const tenant = await tenants.bySlug(slug);
  if (tenant === undefined) {
    await writePrivateFile(file, toText(await provisioning.provision({ slug, name: 'Demo' })));
    return [...lines, `Created the tenant ${slug}; its credentials are in ${file}.`];
  }
  const text = await readPrivateFile(file);
  const kept = text === null ? undefined : readClient(text);
  const isLive = kept !== undefined && (await works(applications, tenant, kept));
  const client = isLive ? kept : await renew(applications, tenant);
  const { id: tenant_id, baseUrl: base_url, issuerUrl: issuer_url } = tenant;
  const wanted = toText({ tenant_id, slug, base_url, issuer_url, ...client });
  if (wanted !== text) await writePrivateFile(file, wanted);
  if (isLive) return lines;
  const why = text === null ? 'was gone' : 'held no credentials that work';
  return [
    ...lines,
    `${file} ${why}: the tenant ${slug} has a further application now, and its credentials are there.`,
  ];
}

async function works(
  applications: Services['applications'],
  tenant: Tenant,
  { client_id, client_secret }: Client,
): Promise<boolean> {
  const client = await applications.findClient(tenant.id, client_id);
  const hash = hashSecret(client_secret);
  return client?.secrets.some((live) => hashesEqual(live.hash, hash)) ?? false;
}

async function renew(applications: Services['applications'], tenant: Tenant): Promise<Client> {
  const { application, clientSecret } = await applications.create(operatorContext(tenant, newId()), {
    name: 'Demo',
    scopes: APPLICATION_SCOPES,
  });
  return { client_id: application.id, client_secret: clientSecret };
}

/** @returns undefined when the content of the file is not valid */
const readClient = (text: string): Client | undefined => clientSchema.safeParse(parseJson(text)).data;

function toText(credentials: Credentials): string {
  return `${JSON.stringify(credentials, null, 2)}\n`;
}

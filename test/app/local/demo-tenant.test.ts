// What `npm start` does for its tenant's credentials: they work afterwards, whatever happened to the file or to the
// application.
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { ensureDemoTenant } from '../../../src/app/local/demo-tenant.ts';
import { hashesEqual, hashSecret } from '../../../src/platform/crypto/opaque-secret.node.ts';
import {
  type Accounts,
  createAccounts,
  provisionTenant,
  requestTo,
} from '../../authentication/tokens/accounts.ts';
import { createTestDatabase } from '../../setup/database.ts';
import { temporaryFolder } from './temporary-folder.ts';

type Credentials = Record<'tenant_id' | 'slug' | 'base_url' | 'client_id' | 'client_secret', string>;

let accounts: Accounts;
let file: string;
let at: (port: number) => Accounts;

const ensure = (services = accounts, slug = 'demo') =>
  ensureDemoTenant({ dataDir: join(file, '..'), slug, ...services });
const read = (): Credentials => JSON.parse(readFileSync(file, 'utf8'));

async function work({ tenant_id, client_id, client_secret }: Credentials): Promise<boolean> {
  const client = await accounts.applications.findClient(tenant_id, client_id);
  return client?.secrets.some((live) => hashesEqual(live.hash, hashSecret(client_secret))) ?? false;
}

beforeEach(async () => {
  const test = await createTestDatabase();
  onTestFinished(test.drop);
  file = join(temporaryFolder(), 'demo-tenant.json');
  at = (port) =>
    createAccounts(test.database, {
      addresses: {
        publicUrl: `http://localhost:${port}`,
        defaultTenant: 'demo',
        tenantUrl: `http://localhost:${port}/t/{tenant}`,
      },
    });
  accounts = at(8080);
});

it('makes the tenant once, and says nothing when all is as it was', async () => {
  expect(await ensure()).toEqual([
    expect.stringMatching(/^Created the tenant demo; its credentials are in /),
  ]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const first = readFileSync(file, 'utf8');
  expect(await work(read())).toBe(true);
  expect(await ensure()).toEqual([]);
  expect(readFileSync(file, 'utf8')).toBe(first);
});

const spoilt: readonly (readonly [string, (kept: Credentials) => Promise<unknown>, RegExp])[] = [
  ['the file was lost', async () => rmSync(file), /was gone/],
  ['the file is empty', async () => writeFileSync(file, ''), /held no credentials that work/],
  ['the file is no JSON', async () => writeFileSync(file, '{'), /held no credentials that work/],
  [
    'the secret in it is another',
    async (kept) => writeFileSync(file, JSON.stringify({ ...kept, client_secret: 'wrong' })),
    /held no credentials that work/,
  ],
  [
    'its application was deleted',
    async ({ client_id }) => accounts.applications.remove(await context(), client_id),
    /held no credentials that work/,
  ],
  [
    'its secret was rotated away',
    async ({ client_id }) => accounts.applications.rotateSecret(await context(), client_id, 0),
    /held no credentials that work/,
  ],
];

async function context() {
  const tenant = await accounts.tenants.bySlug('demo');
  if (tenant === undefined) throw new Error('there is no tenant');
  return requestTo(tenant);
}

it.each(spoilt)('renews the credentials and says so when %s', async (_, spoil, line) => {
  await ensure();
  const kept = read();
  await spoil(kept);
  expect(await ensure()).toEqual([expect.stringMatching(line)]);
  expect(read()).toMatchObject({ tenant_id: kept.tenant_id, slug: 'demo', base_url: kept.base_url });
  expect(await work(read())).toBe(true);
});

it('moves every tenant to the new address, a line each, and keeps the credentials', async () => {
  await ensure();
  await provisionTenant(accounts, 'acme');
  const kept = read();
  const after = at(9090);
  expect(await ensure(after)).toEqual([
    'The tenant demo moved from http://localhost:8080 to http://localhost:9090; tokens of before are refused.',
    'The tenant acme moved from http://localhost:8080/t/acme to http://localhost:9090/t/acme; tokens of before are refused.',
  ]);
  expect(await after.tenants.checkTenantAddresses()).toEqual([]);
  expect(read()).toEqual({
    ...kept,
    base_url: 'http://localhost:9090',
    issuer_url: 'http://localhost:9090',
  });
});

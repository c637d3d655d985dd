// The steps of docs/operations/issuer-key-rotation.md for a master key that somebody else may have, one after the
// other.
import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { createProgram } from '../../../src/app/command-line.ts';
import { sealingKeys as readMasterKeys } from '../../../src/platform/config-values.ts';
import type { Tenant } from '../../../src/platform/context.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import {
  type Accounts,
  createAccounts,
  provisionTenant,
  requestTo,
} from '../../authentication/tokens/accounts.ts';
import { codeOf } from '../../authentication/tokens/refresh-fixture.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { readCommands } from '../operators/incident-page.ts';

const PAGE = 'docs/operations/issuer-key-rotation.md';
const HEADING = 'Emergency: somebody else may have a master key';
const OLD = randomBytes(32).toString('base64');
const NEW = randomBytes(32).toString('base64');

const test = await useTestDatabase();

const startWith = (setting: string) =>
  createAccounts(test.database, { masterKeys: readMasterKeys.parse(setting) });

/** Runs a line of the page. @returns the code with which it ends */
async function run(line: string, MASTER_KEY: string): Promise<number> {
  let code = 0;
  const env = { DATABASE_URL: test.url, DATA_DIR: '/none', MASTER_KEY, PUBLIC_URL: 'http://localhost:8080' };
  const fail = (failed: number) => {
    code = failed;
  };
  const program = createProgram({ env, print: () => undefined, fail });
  await program.parseAsync(['node', ...line.split(' ')]);
  return code;
}

async function issue({ tokens, issuer }: Accounts, tenant: Tenant): Promise<{ text: string; kid: string }> {
  issuer.forget(tenant.id);
  const grant = { sub: tenant.id, clientId: tenant.id, audience: 'x', scopes: ['openid'] };
  const { accessToken: text } = await tokens.issueAccessToken(tenant, grant);
  return { text, kid: JSON.parse(Buffer.from(text.split('.')[0] ?? '', 'base64url').toString()).kid };
}

/** A tenant whose two keys a thief has who took the database and the master key. */
async function robTenant() {
  const before = startWith(OLD);
  const { tenant } = await provisionTenant(before, `t-${newId()}`);
  await before.issuerRotation.perform({ tenantId: tenant.id }, 'publish');
  const { keys } = await before.issuer.jwks(tenant);
  const known = keys.map(({ kid }) => kid);
  expect(known).toHaveLength(2);
  return { tenant, known, stolen: await issue(before, tenant) };
}

/** As after the ten minutes for which a key is published before it may sign. */
const age = (tenant: Tenant) =>
  test.database.query(
    `UPDATE issuer_keys SET created_at = created_at - $2::interval, activate_at = activate_at - $2::interval,
       retire_at = retire_at - $2::interval, remove_at = remove_at - $2::interval WHERE tenant_id = $1`,
    [tenant.id, '11 minutes'],
  );

async function leaveOldKeyOut(tenant: Tenant) {
  const lines = readCommands(PAGE).filter(({ heading }) => heading === HEADING);
  expect(lines.map(({ line }) => line)).toEqual([
    'countersign master-key reseal',
    'countersign master-key status',
  ]);
  for (const { line } of lines) expect(await run(line, `${NEW},${OLD}`)).toBe(0);
  expect(await run(`countersign application list --tenant ${tenant.slug}`, NEW)).toBe(0);
  return issue(startWith(NEW), tenant);
}

it('the published key is revoked, then the one that signs: what the thief signs is refused, the tenant signs on', async () => {
  const { tenant, known, stolen } = await robTenant();
  const both = startWith(`${NEW},${OLD}`);
  for (const kid of [...known.filter((kid) => kid !== stolen.kid), stolen.kid])
    await both.issuerKeys.revoke(requestTo(tenant), kid, { reason: 'stolen' });
  expect(await codeOf(both.tokens.verifyAccessToken(tenant, stolen.text))).toBe('token_revoked');
  expect(known).not.toContain((await leaveOldKeyOut(tenant)).kid);
});

it('it is rotated twice: the thief has the key that signs after the first time, and none that signs after the second', async () => {
  const { tenant, known } = await robTenant();
  const both = startWith(`${NEW},${OLD}`);
  for (const isKnown of [true, false]) {
    await age(tenant);
    await both.issuerKeys.rotate(requestTo(tenant), { reason: 'stolen' });
    expect(known.includes((await issue(both, tenant)).kid)).toBe(isKnown);
    await both.issuerRotation.perform({ tenantId: tenant.id }, 'publish');
  }
  expect(known).not.toContain((await leaveOldKeyOut(tenant)).kid);
});

it('a process from which the old key was taken before everything was sealed anew does not start', async () => {
  const { tenant } = await robTenant();
  await age(tenant);
  const both = startWith(`${NEW},${OLD}`);
  await both.issuerKeys.rotate(requestTo(tenant), { reason: 'stolen' });
  await both.issuerRotation.perform({ tenantId: tenant.id }, 'publish');
  await expect(run(`countersign application list --tenant ${tenant.slug}`, NEW)).rejects.toThrow(
    'issuer_keys.private_sealed names',
  );
});

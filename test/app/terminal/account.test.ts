// Where a command finds its service and its credentials, and what it says when it finds none.
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { findAccount } from '../../../src/app/terminal/account.ts';

const VARIABLES = {
  COUNTERSIGN_URL: 'https://id.example/t/acme/',
  COUNTERSIGN_CLIENT_ID: 'of-the-environment',
  COUNTERSIGN_CLIENT_SECRET: 's',
};
const profile = (clientId: string) => ({
  url: 'https://id.example',
  client_id: clientId,
  client_secret: 's',
});

const folder = await mkdtemp(join(tmpdir(), 'countersign-account-'));
const env = { DATA_DIR: join(folder, 'data'), XDG_CONFIG_HOME: folder };
const file = () => join(folder, 'countersign', 'profiles.json');
const writeProfiles = (profiles: object) => writeFile(file(), JSON.stringify(profiles), { mode: 0o600 });
await mkdir(join(folder, 'countersign'));
await mkdir(join(folder, 'data'));
await writeFile(
  join(folder, 'data', 'demo-tenant.json'),
  JSON.stringify({
    slug: 'demo',
    base_url: 'http://localhost:1',
    client_id: 'of-the-stack',
    client_secret: 's',
  }),
);
await writeProfiles({ default: profile('of-the-default'), acme: profile('of-acme'), half: { url: 'x' } });
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the account of a command', () => {
  it.each([
    ['a profile by name before all else', { ...VARIABLES }, { profile: 'acme' }, 'of-acme'],
    ['the environment before the stack', { ...VARIABLES }, {}, 'of-the-environment'],
    ['the running stack', {}, {}, 'of-the-stack'],
    ['the tenant of the running stack by its slug', {}, { tenant: 'demo' }, 'of-the-stack'],
    ['a profile named like the tenant', {}, { tenant: 'acme' }, 'of-acme'],
    ['the profile of the environment', { COUNTERSIGN_PROFILE: 'acme' }, {}, 'of-acme'],
    ['the default profile without a stack', { DATA_DIR: '/nonexistent' }, {}, 'of-the-default'],
  ])('is %s', async (_, more, choice, clientId) => {
    expect((await findAccount({ ...env, ...more }, choice)).clientId).toBe(clientId);
  });

  it('has no slash at the end of its address', async () => {
    expect((await findAccount({ ...env, ...VARIABLES })).baseUrl).toBe('https://id.example/t/acme');
  });

  it.each([
    ['a tenant without credentials', {}, { tenant: 'globex' }, /no credentials for the tenant "globex"/],
    ['a profile that is not there', {}, { profile: 'acm' }, /no profile "acm".*known: default, acme, half/],
    ['a profile without its fields', {}, { profile: 'half' }, /needs url, client_id and client_secret/],
    [
      'half an environment',
      { COUNTERSIGN_URL: 'https://id.example' },
      {},
      /COUNTERSIGN_CLIENT_SECRET is not: set all/,
    ],
    [
      'a URL that is none',
      { ...VARIABLES, COUNTERSIGN_URL: 'id.example' },
      {},
      /COUNTERSIGN_URL is not a URL/,
    ],
    [
      'nothing at all',
      { DATA_DIR: '/nonexistent', XDG_CONFIG_HOME: '/nonexistent' },
      {},
      /npm start, in this folder/,
    ],
  ])('is refused for %s', async (_, more, choice, words) => {
    await expect(findAccount({ ...env, ...more }, choice)).rejects.toThrow(words);
  });

  it('is not read from a file that others may read', async () => {
    await chmod(file(), 0o644);
    await expect(findAccount(env, { profile: 'acme' })).rejects.toThrow('chmod 600');
    await chmod(file(), 0o600);
  });
});

// The commands of docs/agents.md, run as they stand against the real shell of the service.
import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MANAGEMENT_SCOPES } from '../../../src/platform/scopes.ts';
import { temporaryFolder } from '../../app/local/temporary-folder.ts';
import { requestTo } from '../../authentication/tokens/accounts.ts';
import { type AccountsServer, startAccountsServer } from '../../authentication/tokens/accounts-server.ts';
import { claimsOf } from '../../authentication/tokens/refresh-fixture.ts';
import { createTestDatabase } from '../../setup/database.ts';

/** What the page says that it needs; a machine may lack it. */
const versionOf = (program: string, option = '--version') => spawnSync(program, [option]).stdout?.toString();
const canRun =
  [versionOf('bash'), versionOf('curl')].every(Boolean) &&
  /^OpenSSL [3-9]/.test(versionOf('openssl', 'version') ?? '');
const page = readFileSync('docs/agents.md', 'utf8');
const commands = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) => block).join('\n');

let test: Awaited<ReturnType<typeof createTestDatabase>>;
let server: AccountsServer;
let credentials: object;

beforeAll(async () => {
  test = await createTestDatabase();
  server = await startAccountsServer(test.database);
  const { tenants, applications } = server.accounts;
  await tenants.create({ slug: 'demo' });
  const tenant = await tenants.bySlug('demo');
  if (tenant === undefined) throw new Error('the tenant was not made');
  const { application, clientSecret } = await applications.create(requestTo(tenant), {
    name: 'Client',
    scopes: MANAGEMENT_SCOPES,
  });
  credentials = { base_url: tenant.baseUrl, client_id: application.id, client_secret: clientSecret };
});
afterAll(async () => {
  await server?.close();
  await test?.drop();
});

describe('docs/agents.md', () => {
  it.skipIf(!canRun)('takes an agent from nothing to a token for another resource', async () => {
    expect(commands.match(/curl|json \$/g)?.length).toBeGreaterThan(5);
    const folder = temporaryFolder();
    mkdirSync(join(folder, '.data'));
    writeFileSync(join(folder, '.data/demo-tenant.json'), JSON.stringify(credentials));
    const { stdout } = await promisify(execFile)('bash', ['-ec', commands], { cwd: folder, timeout: 60_000 });
    const answers = stdout
      .replaceAll('}{', '}\n{')
      .split('\n')
      .map((line) => JSON.parse(line));
    const [key, self, tokens] = answers;
    expect(key).toMatchObject({ state: 'active', verified_at: expect.any(String) });
    expect(self).toMatchObject({ id: key.agent_id, authenticated_key_id: key.key_id });
    expect(claimsOf(tokens.access_token)).toMatchObject({
      sub: key.agent_id,
      aud: 'https://vault.example',
      scope: 'openid vault:read',
    });
  });
});

// examples/mcp-server as a client of the Model Context Protocol meets it, beside the whole service.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
} from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import * as oauth from 'oauth4webapi';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { canRun, runScript, scriptOf } from '../../documentation/walk.ts';
import { startTenants, type Tenants } from '../../isolation/tenants-server.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { takePort } from '../../setup/ports.ts';
import { createApplication, enrollAgent, manage } from './live-service.ts';

let tenants: Tenants;
let child: ChildProcess;
let resource: string;
beforeAll(async () => {
  await build();
  tenants = await startTenants();
  resource = `http://localhost:${await takePort()}/mcp`;
  const { clientId, clientSecret } = await createApplication(tenants.owner, { scopes: ['webhooks:read'] });
  const env = {
    ...process.env,
    ISSUER: tenants.owner.credentials.issuer_url,
    RESOURCE: resource,
    CLIENT_ID: clientId,
    CLIENT_SECRET: clientSecret,
  };
  child = spawn(process.execPath, ['examples/mcp-server/server.mjs'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise((resolve, reject) => {
    child.stdout?.once('data', resolve);
    child.once('exit', (code) => reject(new Error(`the example ended with ${code}`)));
  });
});
afterAll(async () => {
  if (child?.exitCode === null) {
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill();
    await gone;
  }
  await tenants?.close();
});

/** The example imports the package as others do, by its name: it must be built. */
async function build(): Promise<void> {
  const program = `import { prepare } from './scripts/prepare.mjs'; await prepare({ build: true });`;
  const builder = spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: 'ignore' });
  const code = await new Promise((resolve) => builder.once('exit', resolve));
  if (code !== 0) throw new Error(`the build ended with ${code}`);
}

async function withToken(token: string) {
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  const client = new Client({ name: 'test', version: '1.0.0' });
  const transport = new StreamableHTTPClientTransport(new URL(resource), { requestInit });
  // The SDK's own types do not agree where optional properties are exact.
  await client.connect(transport as Transport);
  return client;
}

describe('the example of an MCP server', () => {
  it('leads a client that knows nothing but its address to the issuer, and is used with its token', async () => {
    const agent = await enrollAgent(tenants.owner, { audience: resource });
    const { clientId, clientSecret } = await createApplication(tenants.owner, {
      scopes: ['openid'],
      agent_id: agent.id,
      audience: resource,
    });
    const { authorization_servers: [found = ''] = [] } =
      await discoverOAuthProtectedResourceMetadata(resource);
    // By another library than the SDK, whose own providers test/authentication/tokens/mcp-providers.test.ts tries.
    const insecure = { [oauth.allowInsecureRequests]: true };
    const discovery = await oauth.discoveryRequest(new URL(found), { algorithm: 'oauth2', ...insecure });
    const issuer = await oauth.processDiscoveryResponse(new URL(found), discovery);
    const party: oauth.Client = { client_id: clientId };
    const auth = oauth.ClientSecretBasic(clientSecret);
    const request = oauth.clientCredentialsGrantRequest(issuer, party, auth, { resource }, insecure);
    const token = await oauth.processClientCredentialsResponse(issuer, party, await request);
    const client = await withToken(token.access_token);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['list_orders', 'read_secret']);
    const answer = await client.callTool({ name: 'list_orders' });
    expect(answer.content).toEqual([
      { type: 'text', text: JSON.stringify({ agent: agent.id, orders: ['o-1001'] }) },
    ]);
    await client.close();
  });

  it.skipIf(!canRun)(
    'is called by an agent that knows nothing of tokens, by the lines of its README',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'countersign-example-'));
      try {
        const demo = join(folder, 'demo.json');
        await writeFile(demo, JSON.stringify(tenants.owner.credentials));
        const port = String(await takePort());
        // In the place of `sleep`: waits for what it waits for, however slow the machine is.
        const script = `sleep() { until curl -s -o /dev/null http://localhost:${port}/; do command sleep 0.1; done; }
        ${scriptOf('examples/mcp-server/README.md').replaceAll('8000', port)}`;
        const lines = await runScript(script, { cwd: process.cwd(), env: { DEMO: demo, HOME: folder } });
        expect(lines).toEqual([
          `listening at http://localhost:${port}/mcp`,
          expect.stringMatching(/^\{"agent":"[0-9a-f-]{36}","orders":\["o-1001"\]\}$/),
          expect.stringContaining('insufficient_scope'),
        ]);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
  );

  it('names its metadata to a client without a token, and serves it', async () => {
    const answer = await fetch(resource, { method: 'POST' });
    expect(answer.status).toBe(401);
    const { resourceMetadataUrl } = extractWWWAuthenticateParams(answer);
    const metadata = await (await fetch(resourceMetadataUrl ?? '')).json();
    expect(metadata).toMatchObject({
      resource,
      authorization_servers: [tenants.owner.credentials.issuer_url],
      scopes_supported: ['openid', 'vault:read'],
    });
  });

  it('lets an agent call the tools for which its token has the scope, also in a batch', async () => {
    const agent = await enrollAgent(tenants.owner, { audience: resource });
    const able = await withToken(await agent.authenticate('openid vault:read'));
    expect((await able.callTool({ name: 'read_secret' })).content).toEqual([{ type: 'text', text: '"42"' }]);
    await able.close();
    const token = await agent.authenticate('openid');
    const unable = await withToken(token);
    await expect(unable.callTool({ name: 'read_secret' })).rejects.toThrow();
    await unable.close();
    const call = (name: string) => ({ jsonrpc: '2.0', id: name, method: 'tools/call', params: { name } });
    const refused = await fetch(resource, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify([call('list_orders'), call('read_secret')]),
    });
    expect(refused.status).toBe(403);
    expect(extractWWWAuthenticateParams(refused)).toMatchObject({
      error: 'insufficient_scope',
      scope: 'openid vault:read',
    });
  });

  it('refuses an agent soon after its suspension', async () => {
    const agent = await enrollAgent(tenants.owner, { audience: resource });
    const client = await withToken(await agent.authenticate());
    expect((await client.callTool({ name: 'list_orders' })).isError).toBeUndefined();
    await manage(tenants.owner, 'PATCH', `/api/v1/agents/${agent.id}/suspend`, {});
    const failure = await vi.waitUntil(
      () =>
        client.callTool({ name: 'list_orders' }).then(
          () => undefined,
          (error: unknown) => error,
        ),
      PATIENCE,
    );
    expect(String(failure)).toMatch(/token_revoked/);
    await client.close();
  });
});

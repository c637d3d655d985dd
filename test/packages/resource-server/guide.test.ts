// The packed package, installed by npm into an empty folder, and every program of docs/resource-servers.md as it stands
// there, against an issuer in memory that is served over HTTP.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { decodeProtectedHeader, exportJWK } from 'jose';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createTestIssuer, type TestIssuer } from '../../../packages/resource-server/src/testing.ts';
import { newKey } from '../../authentication/trusted-issuers/identity-provider.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { takePort } from '../../setup/ports.ts';

const ROOT = resolve('.');
const AUDIENCE = 'https://orders.example';
const BUYER = { agent: { name: 'buyer', capabilities: ['orders:read'] } };

let folder: string;
let issuer: TestIssuer;
const servers = createServer();
const children: ChildProcess[] = [];
const errors: unknown[] = [];
/** Forms that the issuer was sent, by their path. */
const forms: [path: string | undefined, form: URLSearchParams][] = [];
let privateKey: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countersign-resource-server-'));
  const program = `import { prepare } from './scripts/prepare.mjs'; await prepare({ build: true });`;
  await run(process.execPath, ['--input-type=module', '--eval', program], ROOT);
  const packed = ['./packages/resource-server', './node_modules/jose'];
  await run('npm', ['pack', ...packed, '--ignore-scripts', '--pack-destination', folder], ROOT);
  await writeFile(join(folder, 'package.json'), '{"private":true,"type":"module"}');
  const tarballs = (await readdir(folder)).filter((name) => name.endsWith('.tgz')).map((name) => `./${name}`);
  const quiet = ['--offline', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  await run('npm', ['install', ...quiet, ...tarballs], folder);
  for (const name of ['express', 'koa'])
    await symlink(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
  const guide = await readFile('docs/resource-servers.md', 'utf8');
  const readme = await readFile('packages/resource-server/README.md', 'utf8');
  for (const [, name = '', text = ''] of `${guide}${readme}`.matchAll(/^```js (\S+)\n([\s\S]*?)^```$/gm))
    await writeFile(join(folder, name), text);
  const full = await readFile(join(folder, 'full.mjs'), 'utf8');
  const [, withKey = ''] = /^```js\n(const privateKey = .*\nconst credentials = .*\n)```$/m.exec(guide) ?? [];
  await writeFile(join(folder, 'full-with-key.mjs'), full.replace(/^const credentials = .*\n/m, withKey));
  const { jwk, privateKey: key } = await newKey('EdDSA', 'own');
  privateKey = JSON.stringify({ ...jwk, ...(await exportJWK(key)) });
  await new Promise<void>((done) => servers.listen(0, '127.0.0.1', done));
  const address = `http://127.0.0.1:${(servers.address() as AddressInfo).port}`;
  issuer = await createTestIssuer({ issuer: address, audience: AUDIENCE });
  servers.on('request', async (request, response) => {
    try {
      const chunks: Buffer[] = await request.toArray();
      const { method = 'GET' } = request;
      const body = method === 'GET' ? null : Buffer.concat(chunks);
      forms.push([request.url, new URLSearchParams(body?.toString())]);
      const answer = await issuer.fetch(address + request.url, { method, body });
      response.writeHead(answer.status, { 'content-type': 'application/json' });
      response.end(await answer.text());
    } catch (error) {
      errors.push(error);
      response.destroy();
    }
  });
});
afterAll(async () => {
  for (const child of children) {
    const gone = new Promise((done) => child.once('exit', done));
    if (child.exitCode === null && child.kill()) await gone;
  }
  servers.closeAllConnections();
  servers.close();
  await rm(folder, { recursive: true, force: true });
  expect(errors).toEqual([]);
});

/** Runs a program to its end. @returns what it said; rejects with that when it fails */
function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  return new Promise((done, reject) => {
    const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString();
      });
    child.once('error', reject);
    child.once('close', (code) => (code === 0 ? done(output) : reject(new Error(`${command}: ${output}`))));
  });
}

/** Starts a program of the guide. @returns a function that calls it with a token */
async function start(name: string) {
  const port = await takePort();
  const client = { CLIENT_ID: 'api', CLIENT_SECRET: 'secret', PRIVATE_KEY: privateKey };
  const given = { ISSUER: issuer.issuer, PORT: String(port), ...client };
  const child = spawn(process.execPath, [name], {
    cwd: folder,
    env: { ...process.env, ...given },
    stdio: 'inherit',
  });
  children.push(child);
  const call = (claims: Record<string, unknown> | string, path = '/orders') => send(port, claims, path);
  await vi.waitUntil(() => {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}`);
    return call({}).catch(() => undefined);
  }, PATIENCE);
  return call;
}

async function send(port: number, claims: Record<string, unknown> | string, path: string) {
  const token = typeof claims === 'string' ? claims : await issuer.createToken(claims);
  const url = `http://127.0.0.1:${port}${path}`;
  const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  return { status: answer.status, body: await answer.json() };
}

describe('the installed package', () => {
  it('is itself and jose, and no more', async () => {
    const names = await readdir(join(folder, 'node_modules'));
    expect(names.filter((name) => !name.startsWith('.')).sort()).toEqual([
      '@countersign',
      'express',
      'jose',
      'koa',
    ]);
  });

  it('has types for a strict compiler that knows nothing of Node', async () => {
    const program = `
      import { createGuard, followRevocations, type VerifiedAgent } from '@countersign/resource-server';
      import { requireAgent } from '@countersign/resource-server/fetch';
      const revocations = followRevocations({ issuer: 'https://a.example', credentials: { clientId: 'a', privateKey: { kty: 'EC' } } });
      const guard = createGuard({ issuer: 'https://a.example', audience: 'https://b.example', revocations });
      export const handler: (request: Request) => Promise<Response> = requireAgent(
        guard,
        { scope: ['openid'], delegated: ({ subject, actor }) => subject !== actor },
        (_request, agent: VerifiedAgent) => Response.json(agent.actor),
      );`;
    await writeFile(join(folder, 'types.mts'), program);
    const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
    const options = ['--strict', '--exactOptionalPropertyTypes', '--noEmit', '--module', 'nodenext'];
    const flags = [...options, '--target', 'es2022', '--types', '', '--lib', 'es2022,dom'];
    await run(process.execPath, [compiler, ...flags, 'types.mts'], folder);
  });
});

it('has a README whose program lets an agent with the capability in', async () => {
  const call = await start('orders.mjs');
  expect(await call({ ...BUYER, sub: 'a' })).toEqual({ status: 200, body: { for: 'a' } });
  expect((await call({})).status).toBe(403);
});

describe('the guide', () => {
  it.each(['express.mjs', 'koa.mjs'])(
    'has a program %s that lets an agent with the capability in',
    async (name) => {
      const call = await start(name);
      expect(await call({ ...BUYER, sub: 'a' })).toEqual({ status: 200, body: { agent: 'a', orders: [] } });
      expect((await call({})).status).toBe(403);
      expect((await call({ ...BUYER, aud: 'https://elsewhere.example' })).status).toBe(401);
    },
  );

  it('has a handler from Request to Response', async () => {
    vi.stubEnv('ISSUER', issuer.issuer);
    const module = await import(pathToFileURL(join(folder, 'fetch.mjs')).href);
    vi.unstubAllEnvs();
    const authorization = `Bearer ${await issuer.createToken({ ...BUYER, sub: 'a' })}`;
    const ask = (headers: Record<string, string>): Promise<Response> =>
      module.default.fetch(new Request('https://orders.example/', { headers }));
    expect(await (await ask({ authorization })).json()).toEqual({ agent: 'a', orders: [] });
    expect((await ask({})).status).toBe(401);
  });

  it('has a program that follows revocations and decides by both parties', async () => {
    const call = await start('full.mjs');
    const token = await issuer.createToken();
    expect((await call(token)).status).toBe(200);
    issuer.revokeToken(token);
    const refused = await vi.waitUntil(async () => {
      const answer = await call(token);
      return answer.status === 200 ? undefined : answer;
    }, PATIENCE);
    expect([refused.status, refused.body.error]).toEqual([401, 'token_revoked']);
    const delegated = await issuer.createDelegatedToken({ agentId: 'a', userId: 'u' });
    expect((await call(delegated, '/users')).body).toMatchObject({ subject: 'u', actor: 'a' });
    expect((await call(delegated)).status).toBe(403);
  });

  it('has lines by which that program authenticates with a private key', async () => {
    forms.splice(0);
    const call = await start('full-with-key.mjs');
    const token = await issuer.createToken();
    expect((await call(token)).status).toBe(200);
    issuer.revokeToken(token);
    await vi.waitUntil(async () => (await call(token)).status === 401, PATIENCE);
    const asked = forms.flatMap(([path, form]) => (path === '/oauth/token' ? [form] : []));
    const [assertion = ''] = asked.map((form) => form.get('client_assertion') ?? '');
    expect(decodeProtectedHeader(assertion)).toMatchObject({ alg: 'EdDSA', kid: 'own' });
  });

  it('has a test of a resource server that passes', async () => {
    expect(await run(process.execPath, ['--test', 'orders.test.mjs'], folder)).toMatch(/pass 1/);
  });
});

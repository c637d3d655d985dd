// Runs the contract fuzzer (schemathesis) against the service of `npm start`, as an application of its own. It must
// never be pointed at data that matter.
import { spawn } from 'node:child_process';
import { createHash, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const CONFIG = 'test/contract/schemathesis.toml';
const ALL = '--checks all --continue-on-failure --no-color'.split(' ');
const DAY = 86_400_000;

const tenant = JSON.parse(readFileSync(join(process.env.DATA_DIR ?? '.data', 'demo-tenant.json'), 'utf8'));
const base = tenant.base_url;

/**
 * @param {string} path
 * @param {{ token?: string, client?: Record<string, string>, json?: object, form?: Record<string, string> }} options
 */
async function send(path, { token, client, json, form }) {
  const basic =
    client && `Basic ${Buffer.from(`${client.client_id}:${client.client_secret}`).toString('base64')}`;
  const response = await fetch(base + path, {
    method: json || form ? 'POST' : 'GET',
    headers: {
      authorization: basic ?? `Bearer ${token}`,
      ...(json ? { 'content-type': 'application/json' } : {}),
    },
    body: json ? JSON.stringify(json) : form && new URLSearchParams(form),
  });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return response.json();
}

const tokenOf = async (client) =>
  (await send('/oauth/token', { client, form: { grant_type: 'client_credentials' } })).access_token;

/** A raw ed25519 public key in hex. */
const newKey = () =>
  Buffer.from(generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }).x, 'base64url').toString(
    'hex',
  );

/** Who the fuzzer is, and what there is already for it to meet. */
async function prepare() {
  const demo = await tokenOf(tenant);
  const make = (path, json) => send(path, { token: demo, json });
  const { scopes_supported: scopes } = await send('/.well-known/oauth-authorization-server', { token: demo });
  const fuzzer = await make('/api/v1/applications', { name: 'contract fuzzer', scopes });
  const agents = await Promise.all(
    ['first', 'second', 'third'].map((name) => make('/api/v1/agents', { name: `contract fuzzer, ${name}` })),
  );
  const linked = await make('/api/v1/applications', {
    name: 'contract fuzzer, as an agent',
    scopes: ['openid'],
    agent_id: agents[0].id,
  });
  const keys = await Promise.all(
    agents.map(({ id }) => make(`/api/v1/agents/${id}/keys`, { algorithm: 'ed25519', public_key: newKey() })),
  );
  return { fuzzer, linked, agents, keys };
}

function dictionariesOf({ agents, keys }) {
  const publicKeys = Array.from({ length: 100 }, newKey);
  return {
    agents: agents.map(({ id }) => id),
    'key-ids': keys.map(({ key_id }) => key_id),
    algorithms: ['ed25519'],
    'public-keys': publicKeys,
    fingerprints: [
      ...keys.map(({ fingerprint }) => fingerprint),
      ...publicKeys.map((key) => createHash('sha256').update(Buffer.from(key, 'hex')).digest('hex')),
    ],
    'times-to-come': [1, 30, 300].map((days) => new Date(Date.now() + days * DAY).toISOString()),
    domains: Array.from({ length: 100 }, (_, number) => `agents-${number}.example.com`),
  };
}

const prepared = await prepare();
const folder = mkdtempSync(join(tmpdir(), 'contract-'));
const config = join(folder, 'schemathesis.toml');
const dictionaries = Object.entries(dictionariesOf(prepared)).map(
  ([name, values]) => `[dictionaries.${name}]\nvalues = ${JSON.stringify(values)}\n`,
);
writeFileSync(config, [readFileSync(CONFIG, 'utf8'), ...dictionaries].join('\n'));

const token = await tokenOf(prepared.fuzzer);
const fuzz = spawn(
  process.env.SCHEMATHESIS ?? 'schemathesis',
  ['--config-file', config, 'run', `${base}/openapi.json`, ...ALL, ...process.argv.slice(2)],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      TOKEN: token,
      AGENT_TOKEN: await tokenOf(prepared.linked),
      CLIENT_ID: prepared.fuzzer.client_id,
      CLIENT_SECRET: prepared.fuzzer.client_secret,
    },
  },
);
const [status] = await once(fuzz, 'close');
rmSync(folder, { recursive: true });
// A run that ends its own token would find nothing any more, and look good.
await send('/api/v1/applications', { token });
process.exitCode = status ?? 1;

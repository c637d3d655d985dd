// Runs the contract fuzzer (schemathesis) against the service of `npm start`, as an application of its own. It must never be pointed at data that matter.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const CONFIG = 'test/contract/schemathesis.toml';
const ALL = '--checks all --continue-on-failure --no-color'.split(' ');

const tenant = JSON.parse(readFileSync(join(process.env.DATA_DIR ?? '.data', 'demo-tenant.json'), 'utf8'));
const base = tenant.base_url;

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

const demo = await tokenOf(tenant);
const make = (path, json) => send(path, { token: demo, json });
const metadata = await send('/.well-known/oauth-authorization-server', { token: demo });
const fuzzer = await make('/api/v1/applications', {
  name: 'contract fuzzer',
  scopes: metadata.scopes_supported,
});
const agent = await make('/api/v1/agents', { name: 'contract fuzzer' });
const linked = await make('/api/v1/applications', {
  name: 'contract fuzzer, as an agent',
  scopes: ['openid'],
  agent_id: agent.id,
});

const token = await tokenOf(fuzzer);
const fuzz = spawn(
  process.env.SCHEMATHESIS ?? 'schemathesis',
  ['--config-file', CONFIG, 'run', `${base}/openapi.json`, ...ALL, ...process.argv.slice(2)],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      TOKEN: token,
      AGENT_TOKEN: await tokenOf(linked),
      CLIENT_ID: fuzzer.client_id,
      CLIENT_SECRET: fuzzer.client_secret,
    },
  },
);
const [status] = await once(fuzz, 'close');
// A run that ends its own token would find nothing any more, and look good.
await send('/api/v1/applications', { token });
process.exitCode = status ?? 1;

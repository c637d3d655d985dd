// A tenant with one canary in every text that it and its agents may give, before and after its erasure: in every table,
// in the planner's statistics, in Temporal and in the logs. Two processes of the service, Postgres and Temporal are
// real.
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { type Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { createTemporalClient } from '../../../src/platform/temporal/client.ts';
import { readRows, readStatistics, readTemporal } from '../../redaction/places.ts';
import { type Processes, startProcesses } from '../../redaction/processes.ts';
import { createSecrets } from '../../redaction/secrets.ts';
import { makeKey } from '../../redaction/walk.ts';
import { takePort } from '../../setup/ports.ts';
import { eventually, installRuntimeOnce } from '../../workflows/delivery-engine.ts';

const CANARY = `canary${randomBytes(9).toString('hex')}`;
const search = createSecrets();
search.add('canary', CANARY);
const isIn = (text: string) => search.findIn(text).length > 0;

let processes: Processes;
let connection: Connection;
let client: Client;
let folder: string;
let tenant: Record<'tenant_id' | 'client_id' | 'client_secret', string>;

beforeAll(async () => {
  installRuntimeOnce();
  processes = await startProcesses(createSecrets());
  connection = await Connection.connect({ address: inject('temporalAddress') });
  client = createTemporalClient(connection, processes);
  folder = await mkdtemp(join(tmpdir(), 'countersign-canary-'));
});
afterAll(async () => {
  await processes?.stop();
  await processes?.close();
  await connection?.close();
  await rm(folder, { recursive: true, force: true });
});

const run = async (...args: string[]) => {
  const { code, stdout, stderr } = await processes.command(args);
  expect(code, stderr).toBe(0);
  return stdout;
};
const WHY = ['--reason', 'the contract has ended', '--as', 'jo@ops'];

/** @returns requests of the application of a tenant, at its path */
async function signIn(slug: string, { client_id, client_secret }: typeof tenant, mark: string) {
  const base = `${processes.origin}${slug === 'demo' ? '' : `/t/${slug}`}`;
  const answer = await fetch(`${base}/oauth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  const { access_token } = (await answer.json()) as { access_token: string };
  return async (method: string, path: string, body?: unknown) => {
    const response = await fetch(base + path, {
      method,
      headers: {
        authorization: `Bearer ${access_token}`,
        'content-type': 'application/json',
        'idempotency-key': `${mark}-${randomBytes(4).toString('hex')}`,
        'user-agent': mark,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    expect(response.status, `${method} ${path}: ${text}`).toBeLessThan(300);
    return (text === '' ? {} : JSON.parse(text)) as Record<string, string>;
  };
}

/** Gives the canary in each text that the interface takes. */
async function fill(ask: Awaited<ReturnType<typeof signIn>>): Promise<void> {
  const key = makeKey(createSecrets(), 'ed25519');
  await ask('PATCH', '/api/v1/tenant', { name: CANARY, audience: `https://${CANARY}.example` });
  const agent = await ask('POST', '/api/v1/agents', {
    name: CANARY,
    description: CANARY,
    owner: CANARY,
    purpose: CANARY,
    audience: `https://${CANARY}.example`,
    audiences: [`https://${CANARY}.example/b`],
    metadata: { [CANARY]: CANARY },
    scopes: ['openid', 'wallet:sign'],
  });
  const { kty, crv, x } = key.publicJwk as Record<string, string>;
  await ask('POST', `/api/v1/agents/${agent.id}/keys`, {
    algorithm: 'ed25519',
    public_key: { kty, crv, x },
    label: CANARY,
  });
  await ask('POST', `/api/v1/agents/${agent.id}/anchors`, {
    type: 'domain_dns',
    value: `${CANARY}.example`,
  });
  await ask('POST', `/api/v1/agents/${agent.id}/enrollment-tokens`, {});
  await ask('POST', '/api/v1/applications', {
    name: CANARY,
    scopes: ['events:write'],
    audience: `https://${CANARY}.example`,
    jwks: { keys: [{ ...key.publicJwk, kid: CANARY }] },
  });
  const issuer = { issuer: `https://${CANARY}.example`, jwks_uri: `https://${CANARY}.example/jwks` };
  await ask('POST', '/api/v1/trusted-issuers', { ...issuer, audiences: [CANARY] });
  await ask('POST', '/api/v1/workload-issuers', {
    ...issuer,
    audiences: [CANARY],
    rules: [{ agent_id: agent.id, claims: { sub: CANARY } }],
  });
  const delegation = await ask('POST', '/api/v1/delegations', {
    subject: { issuer: issuer.issuer, sub: CANARY },
    agent_id: agent.id,
    scopes: ['openid'],
    expires_at: new Date(Date.now() + 86_400_000).toISOString(),
  });
  const type = `${CANARY}.order.placed`;
  const webhook = await ask('POST', '/api/v1/webhooks', {
    url: `http://127.0.0.1:${await takePort()}/${CANARY}`,
    description: CANARY,
    event_types: [type, 'admin.delegation.revoked'],
    headers: { 'x-gateway': CANARY },
  });
  await ask('POST', '/api/v1/webhooks', {
    url: `https://${CANARY}.invalid/${CANARY}`,
    event_types: [type],
  });
  await ask('POST', '/api/v1/events', { type, event_id: CANARY, data: { text: CANARY } });
  await ask('POST', `/api/v1/delegations/${delegation.id}/revoke`, { reason: CANARY });
  await eventually(async () => {
    const { rows } = await processes.database.query(
      'SELECT 1 FROM deliveries WHERE subscription_id = $1 AND started_generation IS NOT NULL',
      [webhook.id],
    );
    return rows.length > 0;
  }, 'a workflow of a delivery');
}

/** Sends the canary where nothing takes it: in paths, queries, credentials and bodies that are refused. */
async function mention(): Promise<void> {
  const base = `${processes.origin}/t/acme`;
  const form = { grant_type: CANARY, client_id: CANARY, client_secret: CANARY, refresh_token: CANARY };
  const json = { 'content-type': 'application/json' };
  for (const [path, init] of [
    [`/api/v1/events/${CANARY}`, { headers: { authorization: `Bearer ${CANARY}` } }],
    [`/${CANARY}?${CANARY}=${CANARY}`, { headers: { 'user-agent': CANARY, 'x-request-id': CANARY } }],
    ['/oauth/token', { method: 'POST', body: new URLSearchParams(form) }],
    ['/auth/agent/challenge', { method: 'POST', headers: json, body: JSON.stringify({ agent_id: CANARY }) }],
    ['/auth/agent/verify', { method: 'POST', headers: json, body: `{"${CANARY}"` }],
  ] as const)
    expect((await fetch(base + path, init)).status, path).toBeGreaterThanOrEqual(400);
}

const tablesWithCanary = async () =>
  [...(await readRows(processes.database))].flatMap(([table, text]) => (isIn(text) ? [table] : []));
const statisticsWithCanary = async () =>
  (await readStatistics(processes.database)).flatMap(({ name, text }) => (isIn(text) ? [name] : []));
/** Temporal's own list is a moment behind. */
const workflowsWithCanary = async () => (await readTemporal(client)).filter(isIn).length;

it('a canary is in tables and in Temporal, and in neither after the erasure; no log ever has it', async () => {
  tenant = JSON.parse(await run('tenant', 'create', 'acme', '--json'));
  const ask = await signIn('acme', tenant, CANARY);
  await fill(ask);
  await mention();
  const kept = await signIn('demo', processes.tenant as typeof tenant, 'stays');
  await kept('POST', '/api/v1/agents', { name: 'stays' });

  const found = await tablesWithCanary();
  expect(found.map((table) => table.replace(/_\d{8}$/, ''))).toEqual(
    expect.arrayContaining([
      ...[
        'tenants',
        'agents',
        'agent_keys',
        'anchors',
        'applications',
        'trusted_issuers',
        'workload_issuers',
      ],
      ...['subscriptions', 'subscription_filters', 'events', 'published_events', 'deliveries'],
      ...['audit_log', 'idempotency_keys'],
    ]),
  );
  await eventually(async () => (await workflowsWithCanary()) > 0, 'the canary in Temporal');

  // As Postgres does by itself when a table has changed enough.
  await processes.database.query('ANALYZE');
  expect(await statisticsWithCanary()).toEqual(
    expect.arrayContaining(['tenants', 'agents', 'subscriptions']),
  );

  const archive = join(folder, 'acme.ndjson.gz');
  await run('operator', 'tenant', 'export', 'acme', '--out', archive, ...WHY);
  const text = gunzipSync(await readFile(archive)).toString();
  const exported = new Set(
    text
      .trimEnd()
      .split('\n')
      .filter(isIn)
      .map((line) => JSON.parse(line).table),
  );
  expect([...exported]).toEqual(
    expect.arrayContaining([
      'agents',
      'applications',
      'users',
      'delegations',
      'events',
      'deliveries',
      'subscriptions',
    ]),
  );

  await run('operator', 'tenant', 'end', 'acme', '--confirm', 'acme', ...WHY);
  await processes.database.query(
    "UPDATE tenant_ends SET erase_at = now() - interval '1 second' WHERE tenant_id = $1",
    [tenant.tenant_id],
  );
  const erasure = client.workflow.getHandle(`erasure/${tenant.tenant_id}`);
  await eventually(
    () =>
      erasure.signal('changed').then(
        () => true,
        () => false,
      ),
    'the workflow of the erasure',
  );
  expect(await erasure.result()).toEqual({ status: 'erased' });

  expect(await tablesWithCanary()).toEqual([]);
  expect(await statisticsWithCanary()).toEqual([]);
  const left = await readTemporal(client);
  expect(left.filter(isIn)).toEqual([]);
  const ofTenant = left.filter((one) => one.includes(tenant.tenant_id));
  expect(ofTenant.map((one) => JSON.parse(one).workflowId)).toEqual([`erasure/${tenant.tenant_id}`]);
  expect((await kept('GET', '/api/v1/agents')).data).toMatchObject([{ name: 'stays' }]);
  const gone = await fetch(`${processes.origin}/t/acme/.well-known/jwks.json`);
  expect(gone.status).toBe(404);

  const { note } = JSON.parse(await run('operator', 'tenant', 'certificate', 'acme', '--json'));
  expect(note).toMatch(/\nremoved agents 1\n/);
  expect(note).toMatch(/\nremoved workflows [1-9]/);
  expect(isIn(note)).toBe(false);
  const verified = JSON.parse(await run('audit', 'verify', '--json'));
  expect(verified).toMatchObject({ intact: true, findings: [] });
  await processes.stop();
  const logs = processes.logs();
  expect(logs).toContain('"level":"debug"');
  // As docs/erasure.md says, a request id that its client chose is in the log of requests, and no other field is.
  const lines = logs.split('\n').filter(isIn);
  expect(lines.map((line) => JSON.parse(line).event)).toEqual(['http.request']);
  expect(lines.map((line) => line.replace(`"request_id":"${CANARY}"`, '')).filter(isIn)).toEqual([]);
});

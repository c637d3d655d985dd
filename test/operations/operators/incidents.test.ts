// Runs docs/operations/incidents.md: every command line that stands there, in its order, against a real Temporal and a
// real database with the incident that it is for. What the page says of a command's effect is looked at after it.

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { obtainTemporal } from '../../../src/app/local/temporal-program.ts';
import { bundleWorkflows } from '../../../src/platform/temporal/bundle.ts';
import { ensureNamespace } from '../../../src/platform/temporal/namespace.ts';
import { buildStack } from '../../app/local/stack.ts';
import { AUTHORITY_FILE } from '../../webhooks/receiver/local-receiver.ts';
import { eventually } from '../../workflows/delivery-engine.ts';
import { createEndpointEngine, type EndpointEngine } from '../../workflows/endpoint-engine.ts';
import { MASTER_KEY } from '../../workflows/engine-services.ts';
import { createShell, type Refused, readCommands } from './incident-page.ts';

const PAGE = 'docs/operations/incidents.md';
const commands = readCommands(PAGE);
const certificate = (name: string) => readFileSync(join(dirname(AUTHORITY_FILE), name));

let engine: EndpointEngine;
let process_: Awaited<ReturnType<EndpointEngine['startProcess']>>;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
let shell: (line: string) => Promise<string>;
let troubled: string;
const ran = new Set<string>();

/** A receiver whose certificate has run out, until it is renewed. */
async function startReceiver() {
  const received: string[] = [];
  const key = certificate('receiver-key.pem');
  const server = createServer({ key, cert: certificate('expired.pem') }, (request, response) => {
    received.push(String(request.headers['x-service-delivery']));
    request.resume();
    response.writeHead(204).end();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const host = `receiver.test:${(server.address() as AddressInfo).port}`;
  const use = (cert: string) => {
    server.setSecureContext({ key, cert: certificate(cert) });
    // A connection that is kept alive has seen the former one.
    server.closeAllConnections();
  };
  const close = () => {
    server.closeAllConnections();
    return new Promise((done) => server.close(done));
  };
  return { host, received, use, close };
}

beforeAll(async () => {
  const main = join(await buildStack(), 'src/main.js');
  // A namespace of its own: batches, and the doctor, act on all workflows there.
  const address = inject('temporalAddress');
  const namespace = `incidents-${randomUUID()}`;
  const connection = await Connection.connect({ address });
  await ensureNamespace(connection, { namespace });
  await connection.close();
  engine = await createEndpointEngine({
    temporal: { address, namespace },
    egress: { caFile: AUTHORITY_FILE, lookup: async () => ['127.0.0.1'] },
    recovery: { failures: 4, deliveries: 2, failingMs: 0, probeDelaysMs: [600_000] },
  });
  receiver = await startReceiver();
  process_ = await engine.startProcess();
  engine.startRunner();
  const { subscription } = await engine.subscriptions.create(engine.context, {
    url: `https://${receiver.host}/hook`,
    eventTypes: ['wallet.tx.signed'],
    retryPolicy: { delaysMs: [3_600_000] },
  });
  troubled = subscription.id;
  const temporal = await obtainTemporal({
    binFolder: resolve('.data', 'bin'),
    path: process.env.PATH ?? '',
    say: () => undefined,
  });
  shell = createShell(
    {
      t: `${temporal} --address ${address} --namespace ${namespace}`,
      countersign: `${process.execPath} ${main}`,
    },
    {
      PATH: process.env.PATH ?? '',
      HOME: process.env.HOME ?? '/',
      DATABASE_URL: engine.url,
      TEMPORAL_ADDRESS: address,
      TEMPORAL_NAMESPACE: namespace,
      MASTER_KEY,
      PUBLIC_URL: 'http://localhost:8080',
      DATA_DIR: '/dev/null/unused',
    },
  );
});
afterAll(async () => {
  await engine?.close();
  await receiver?.close();
});

/** Runs the one line under the heading that contains the words. @returns what it wrote */
async function run(heading: string, words: string): Promise<string> {
  const found = commands.filter((command) => command.heading === heading && command.line.includes(words));
  if (found.length !== 1) throw new Error(`${found.length} lines with "${words}" under "${heading}"`);
  const [{ line } = { line: '' }] = found;
  ran.add(`${heading}: ${line}`);
  return shell(
    line
      .replaceAll('api.acme.com', receiver.host)
      .replaceAll('<tenant id>', engine.context.tenant.id)
      .replaceAll('<subscription_id>', troubled)
      .replace(/(tenant \w+|--tenant) acme /, `$1 ${engine.context.tenant.slug} `),
  );
}

/** Runs a line until it tells what is expected: Temporal's index follows with a delay. */
const runUntil = (heading: string, words: string, expected: RegExp) =>
  eventually(async () => expected.test(await run(heading, words)), `${words} to tell ${expected}`);

/**
 * Waits until Temporal's index has these deliveries: a batch reaches what the index has, and former ones stay in it for
 * a while.
 */
const listed = (heading: string, ids: readonly string[]) =>
  eventually(
    async () => {
      const list = await run(heading, 'workflow list --query \'WorkflowType="webhookDelivery"');
      return ids.every((id) => list.includes(`delivery/${id}`));
    },
    `the index to have ${ids.join(' and ')}`,
  );

const statuses = async (ids: readonly string[]) => {
  const rows = await Promise.all(ids.map((id) => engine.delivery(id)));
  return rows.map(({ status }) => status);
};

/** Publishes events that fail at the receiver as it is, and waits until each was tried or waits for the endpoint. */
async function fail(count: number): Promise<string[]> {
  await engine.database.query(
    "UPDATE endpoints SET state = 'open', probe_at = NULL, permits = NULL, failures_in_a_row = 0, failing_deliveries = '{}', failing_since = NULL WHERE subscription_id = $1",
    [troubled],
  );
  const ids = await engine.publish(troubled, count);
  for (const id of ids)
    await eventually(async () => (await engine.delivery(id)).attempt_count > 0, 'its first failure');
  return ids;
}

describe('deliveries fail TLS against one host', () => {
  const heading = 'Deliveries fail TLS against one host';

  it('they are found, by Postgres and by Temporal', async () => {
    receiver.use('expired.pem');
    const ids = await fail(2);
    expect(await run(heading, 'host failing --class tls')).toContain(
      `${receiver.host}  tls:CERT_HAS_EXPIRED  1 endpoint of 1 tenant`,
    );
    await runUntil(heading, 't workflow count', /Total: 2\b/);
    await listed(heading, ids);
    await run(heading, 'workflow list --query \'WorkflowType="endpointRecovery"');
  });

  it('when the receiver is mended, one command sends all waiting deliveries', async () => {
    const ids = await fail(2);
    receiver.use('receiver.pem');
    expect(await run(heading, 'operator host retry')).toContain('1 endpoint of 1 tenant');
    for (const id of ids) expect(await engine.ended(id)).toMatchObject({ status: 'delivered' });
  });

  it('a batch retries some, and each is in the audit log', async () => {
    receiver.use('expired.pem');
    const ids = await fail(2);
    receiver.use('receiver.pem');
    await listed(heading, ids);
    await run(heading, '--name operatorRetry');
    for (const id of ids) expect(await engine.ended(id)).toMatchObject({ status: 'delivered' });
    const retried = await engine.auditOf('webhook.delivery.retried');
    expect(retried).toHaveLength(2);
    expect(retried[0]).toMatchObject({
      actor_kind: 'operator',
      data: { reason: 'the certificate is renewed' },
    });
    await runUntil(heading, 'batch list', /Completed/);
  });

  it('one command cancels what waits for good, also what was never tried', async () => {
    receiver.use('expired.pem');
    const ids = await fail(2);
    await engine.database.query(
      "UPDATE endpoints SET state = 'down', probe_at = now() + interval '1 hour' WHERE subscription_id = $1",
      [troubled],
    );
    ids.push(...(await engine.publish(troubled, 2)));
    expect(await run(heading, 'operator host cancel')).toContain(
      `4 deliveries to ${receiver.host} canceled: 1 endpoint of 1 tenant.`,
    );
    expect(await statuses(ids)).toEqual(ids.map(() => 'canceled'));
    for (const id of ids.slice(0, 2)) await engine.workflow(id).result();
    receiver.use('receiver.pem');
  });

  it('the signal of the relay retries nothing, as the page says', async () => {
    receiver.use('expired.pem');
    const [id = ''] = await fail(1);
    await engine.failedOnce(id);
    await engine.workflow(id).signal('retryNow');
    const before = (await engine.delivery(id)).attempt_count;
    await engine.quiet();
    expect((await engine.delivery(id)).attempt_count).toBe(before);
    await engine.deliveries.cancel(engine.context, id);
    receiver.use('receiver.pem');
  });
});

it('a receiver that must not be called any more gets nothing until it is released', async () => {
  const heading = 'A receiver must not be called any more';
  expect(await run(heading, 'its owner asked us to stop')).toContain('1 endpoint of 1 tenant');
  const before = receiver.received.length;
  const ids = await engine.publish(troubled, 3);
  expect(await run(heading, 'operator host list')).toContain(receiver.host);
  await runUntil(heading, 't workflow list', new RegExp(`endpoint/${troubled}`));
  expect(receiver.received).toHaveLength(before);
  expect(await run(heading, 'its owner is ready')).toContain('goes out');
  for (const id of ids) expect(await engine.ended(id)).toMatchObject({ status: 'delivered' });
  expect(await run(heading, '--for 12h')).toContain('Nothing is sent');
  expect(await run(heading, 'done earlier')).toContain('goes out');
});

it('a tenant that abuses the service is suspended and resumed', async () => {
  const heading = 'A tenant abuses the service';
  const { slug } = engine.context.tenant;
  expect(await run(heading, 't workflow count')).toMatch(/Total: \d+/);
  expect(await run(heading, 'tenant suspend')).toContain(`Tenant ${slug} is suspended`);
  expect(await run(heading, 'tenant list')).toMatch(new RegExp(`^${slug} .*suspended since`, 'm'));
  const [id = ''] = await engine.publish(troubled);
  await engine.quiet();
  expect((await engine.delivery(id)).status).toBe('pending');
  expect(await run(heading, 'tenant resume')).toContain('is served again');
  expect(await engine.ended(id)).toMatchObject({ status: 'delivered' });
  const log = await run('Incidents: what to do across tenants', 'operator log');
  for (const action of ['tenant.suspended', 'tenant.resumed', 'webhook.host.held', 'webhook.host.retried'])
    expect(log).toContain(action);
});

it('after a bad deployment the former version goes on, a reset does no harm, and what is terminated is started again', async () => {
  const heading = 'A bad deployment: workflow tasks fail';
  await engine.database.transaction({}, (unit) =>
    engine.hostHolds.hold(unit, receiver.host, { length: 'released', reason: 'a test', operator: 'jo' }),
  );
  await engine.waitsFor(troubled, 'hold');
  await process_.stop();
  const bad = await bundleWorkflows(resolve('test/operations/operators/bad-workflows.ts'));
  const worker = await engine.startProcess({ relay: false, workflows: bad });
  await engine.actor(troubled).signal('changed');
  await runUntil(heading, 't workflow describe --workflow-id endpoint', /"attempt": [2-9]/);
  expect(await run(heading, 'workflow list')).toContain(`endpoint/${troubled}`);
  await worker.stop();
  process_ = await engine.startProcess();
  const wait = () => engine.waitsFor(troubled, 'hold');
  await wait();
  await run(heading, 'workflow reset');
  await wait();
  await run(heading, 'workflow terminate');
  // It ends with 1: the workers of this test have queues of their own, so it misses some of those that it knows.
  const told = await run(heading, 'doctor --fix').catch((error: Refused) => {
    if (error.code !== 1) throw error;
    return error.output;
  });
  expect(told).toMatch(new RegExp(`workflow_missing.*${troubled}`));
  await wait();
});

it('no line of the page is left out', () => {
  const all = commands.map(({ heading, line }) => `${heading}: ${line}`);
  expect(all.filter((line) => !ran.has(line))).toEqual([]);
});

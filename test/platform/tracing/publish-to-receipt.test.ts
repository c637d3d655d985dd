// One trace from a publisher's request to the receiver's answer, through real processes of the API and the worker.
import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { buildStack } from '../../app/local/stack.ts';
import { accessToken, persist, startApis } from '../../faults/two-apis.ts';
import { AUDIT_KEY } from '../../setup/database.ts';
import { makeNamespace } from '../../setup/namespace.ts';
import { takePort } from '../../setup/ports.ts';
import { eventually, installRuntimeOnce } from '../../workflows/delivery-engine.ts';
import { type ScriptedReceiver, startScriptedReceiver } from '../../workflows/scripted-receiver.ts';
import { type CollectedSpan, startCollector } from './collector.ts';
import { partsOf } from './spans.ts';

const SECRET_DATA = 'what-the-event-says';

let receiver: ScriptedReceiver;
beforeAll(async () => {
  installRuntimeOnce();
  receiver = await startScriptedReceiver();
});
afterAll(() => receiver?.close());

async function startWorker(environment: Record<string, string>) {
  const port = await takePort();
  const child = spawn(process.execPath, [join(await buildStack(), 'src/main.js'), 'worker'], {
    env: { ...environment, METRICS_PORT: String(port) },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const exited = once(child, 'exit');
  await eventually(
    () =>
      fetch(`http://127.0.0.1:${port}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    'the worker to be ready',
  );
  return async () => {
    child.kill('SIGTERM');
    await exited;
  };
}

/** Publishes one event whose first attempt fails, by a caller that traces. @returns after both processes have ended */
async function deliver(tracing: Record<string, string>) {
  const namespace = await makeNamespace('traces');
  const variables = {
    TEMPORAL_NAMESPACE: namespace,
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    ...tracing,
  };
  const { apis, database, url, authorization, tenantId, close } = await startApis(
    (place) => [place],
    variables,
  );
  const [api] = apis;
  if (api === undefined) throw new Error('no api was started');
  const stopWorker = await startWorker({
    PATH: process.env.PATH ?? '',
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    DATABASE_URL: url,
    MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
    AUDIT_KEY,
    LOG_LEVEL: 'warn',
    ...variables,
  });
  const token = await accessToken(api, authorization);
  const bearer = { authorization: `Bearer ${token}` };
  const path = `/${randomUUID()}`;
  receiver.answer(path, (_, count) => ({ status: count === 1 ? 500 : 204 }));
  const subscription = {
    url: `${receiver.url}${path}`,
    event_types: ['wallet.tx.signed', 'orders.order.placed'],
    retry_policy: { delays_seconds: [1, 1] },
  };
  const subscribed = await persist(() => api.json('POST', '/api/v1/webhooks', subscription, bearer));
  expect(subscribed.status, JSON.stringify(subscribed.body)).toBe(201);
  let [traceId, spanId] = ['', ''];
  const event = { type: 'orders.order.placed', data: { secret: SECRET_DATA } };
  const published = await persist(() => {
    // A request that is refused is a trace of its own here.
    [traceId = '', spanId = ''] = [16, 8].map((bytes) => randomBytes(bytes).toString('hex'));
    const traceparent = `00-${traceId}-${spanId}-01`;
    return api.json('POST', '/api/v1/events', event, { ...bearer, traceparent });
  });
  expect(published.status).toBe(202);
  const rows = async () =>
    (await database.query<{ id: string; status: string; trace: string | null }>('SELECT * FROM deliveries'))
      .rows;
  const delivery = await eventually(
    async () => (await rows()).find(({ status }) => status === 'delivered'),
    'the delivery',
  );
  // A process that stops sends what is left.
  await stopWorker();
  const stored = (await rows()).map(({ trace }) => trace);
  await close();
  const requests = receiver.of(path);
  return { traceId, spanId, delivery, stored, requests, token, path, tenantId };
}

const parentOf = (spans: readonly CollectedSpan[], { parentSpanId }: CollectedSpan) =>
  spans.find((span) => span.spanId === parentSpanId);

/** Names from a span up to the one that the caller has made. */
function lineage(spans: readonly CollectedSpan[], span: CollectedSpan): string[] {
  const parent = parentOf(spans, span);
  return parent === undefined ? [span.name] : [span.name, ...lineage(spans, parent)];
}

/** Of the first attempt, which fails, and of the retry. */
const LINEAGES = [
  ['POST', 'first attempt', 'publish', 'POST /api/v1/events'],
  ['POST', 'RunActivity:sendDelivery', 'StartWorkflow:webhookDelivery', 'publish', 'POST /api/v1/events'],
];

describe('the trace of a publication', () => {
  it('a publication, its delivery and the retry are one trace', async () => {
    const collector = await startCollector();
    const { traceId, spanId, delivery, stored, requests, token, path, tenantId } = await deliver({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=a%20b',
      OTEL_SERVICE_NAME: 'countersign-test',
    });
    await collector.close();
    const spans = collector.spans.filter((span) => span.traceId === traceId);
    const server = spans.find(({ name }) => name === 'POST /api/v1/events');
    expect(server).toMatchObject({
      parentSpanId: spanId,
      kind: 2,
      failed: false,
      resource: { 'service.name': 'countersign-test', 'countersign.role': 'api' },
      attributes: { 'http.route': '/api/v1/events', 'http.response.status_code': 202 },
    });
    // Nothing hangs in the air, and nothing of this trace is anybody else's.
    for (const span of spans) expect(lineage(spans, span).at(-1)).toBe('POST /api/v1/events');
    const posts = spans
      .filter(({ name }) => name === 'POST')
      .sort((a, b) => (a.startTimeUnixNano < b.startTimeUnixNano ? -1 : 1));
    expect(posts.map((span) => lineage(spans, span))).toEqual(LINEAGES);
    expect(posts).toMatchObject([
      { kind: 3, failed: true, attributes: { 'http.response.status_code': 500, 'error.type': 'http:500' } },
      { kind: 3, failed: false, attributes: { 'http.response.status_code': 204 } },
    ]);
    // The receiver is told which span called it.
    const told = requests.map(({ headers }) => partsOf(String(headers.traceparent)));
    expect(told).toEqual(posts.map((post) => ({ traceId, spanId: post.spanId })));
    // No span is kept open while a delivery waits.
    const [failed, retried] = posts;
    const waits = (span: CollectedSpan) =>
      BigInt(span.startTimeUnixNano) <= BigInt(failed?.endTimeUnixNano ?? 0) &&
      BigInt(span.endTimeUnixNano) >= BigInt(retried?.startTimeUnixNano ?? 0);
    expect(spans.filter(waits).map(({ name }) => name)).toEqual([]);
    const begun = spans.find(({ name }) => name.startsWith('StartWorkflow'));
    expect(begun?.attributes).toMatchObject({
      'countersign.delivery_id': delivery.id,
      'countersign.tenant_id': tenantId,
      temporalWorkflowId: `delivery/${delivery.id}`,
    });
    expect(stored).toEqual([`00-${traceId}-${spans.find(({ name }) => name === 'publish')?.spanId}-01`]);
    const text = collector.bodies.join('\n');
    for (const secret of [token, path, SECRET_DATA]) expect(text).not.toContain(secret);
    expect(collector.headers.every((headers) => headers['x-tenant'] === 'a b')).toBe(true);
  });

  it('nothing is traced, stored or told unless it is asked for', async () => {
    const collector = await startCollector();
    const { stored, requests } = await deliver({
      OTEL_TRACES_EXPORTER: 'none',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    });
    await collector.close();
    expect(collector.requests()).toBe(0);
    expect(stored).toEqual([null]);
    expect(requests.map(({ headers }) => headers.traceparent)).toEqual([undefined, undefined]);
  });
});

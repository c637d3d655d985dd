// Second half of the demo: two receivers refuse their first deliveries and accept them later.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createExpressReceiver, createMemoryDeliveryLog, RetryLater } from '@countersign/receiver';

const RETRY_AFTER_SECONDS = 4;
const DOWN_SECONDS = 6;
const RETRY_POLICY = { delays_seconds: [2, 5, 10, 20, 30, 30, 30, 30] };
const PATIENCE_MS = 180_000;

/** Subscribes both receivers, publishes events, waits for every delivery and checks the times of the arrivals. */
export async function showDeliveries({ manage, report }) {
  report.section('Two receivers');
  const busy = await openReceiver(manage, 'busy', (arrivals) => {
    if (arrivals.length === 1) throw new RetryLater(RETRY_AFTER_SECONDS);
  });
  report.step(`one answers 503 with Retry-After: ${RETRY_AFTER_SECONDS} first (${busy.url})`);
  const away = await openReceiver(manage, 'away', () => undefined);
  try {
    await away.close();
    report.step(`one is down for ${DOWN_SECONDS} s (${away.url})`);

    report.section('Published events');
    await publish({ manage, report }, busy, [1]);
    await untilTried(manage, busy);
    report.step('the busy receiver has answered 503; what comes now has to wait for it');
    await publish({ manage, report }, busy, [2, 3]);
    await publish({ manage, report }, away, [1, 2]);
    await sleep(DOWN_SECONDS * 1000);
    await away.open();
    report.step('the receiver that was down is up');

    for (const receiver of [busy, away]) await follow({ manage, report }, receiver);
    const [first, ...later] = busy.arrivals;
    const waited = later.length === 0 ? 0 : (later[0].at - first.at) / 1000;
    report.check(
      `Retry-After was honoured: nothing arrived for ${waited.toFixed(2)} s (asked for: ${RETRY_AFTER_SECONDS} s)`,
      waited >= RETRY_AFTER_SECONDS,
    );
    report.check('all three events reached the busy receiver', new Set(eventsOf(later)).size === 3);
    report.check(
      'the receiver that was down got everything once it was up',
      new Set(eventsOf(away.arrivals)).size === 2,
    );
    for (const { path } of [busy, away]) await manage('DELETE', path);
  } finally {
    await Promise.all([busy.close(), away.close()]);
  }
}

const eventsOf = (arrivals) => arrivals.map(({ eventId }) => eventId);

/** A receiver as anybody writes it, and its subscription. @param {(arrivals: object[]) => void} handle may throw */
async function openReceiver(manage, name, handle) {
  const arrivals = [];
  const refused = [];
  let secret;
  let server;
  const receive = createExpressReceiver({
    secrets: () => secret,
    log: createMemoryDeliveryLog(),
    handler: ({ eventId }) => {
      arrivals.push({ at: Date.now(), eventId });
      handle(arrivals);
    },
    onRefused: ({ reason }) => refused.push(reason),
    onError: () => undefined,
  });
  const open = async (port = 0) => {
    server = createServer(receive).listen(port, '127.0.0.1');
    await once(server, 'listening');
    return server.address().port;
  };
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  const port = await open();
  const url = `http://127.0.0.1:${port}/webhooks`;
  const type = `demo.${name}_${Date.now().toString(36)}`;
  const subscription = await manage('POST', '/api/v1/webhooks', {
    url,
    event_types: [type],
    description: `demo: ${name}`,
    retry_policy: RETRY_POLICY,
  });
  ({ secret } = subscription);
  return {
    name,
    url,
    type,
    arrivals,
    refused,
    path: `/api/v1/webhooks/${subscription.id}`,
    open: () => open(port),
    close,
  };
}

async function publish({ manage, report }, { type }, numbers) {
  for (const n of numbers) {
    const { event_id, deliveries } = await manage('POST', '/api/v1/events', { type, data: { n } });
    report.check(`${type} no. ${n} accepted: event ${event_id}`, deliveries >= 1);
  }
}

/** Waits until the first attempt is recorded, because only a recorded refusal affects other deliveries. */
async function untilTried(manage, { path }) {
  for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; await sleep(100)) {
    const { data } = await manage('GET', `${path}/deliveries`);
    if (data.some(({ attempt_count }) => attempt_count > 0)) return;
  }
}

async function follow({ manage, report }, { name, path, refused }) {
  report.section(`Deliveries to the receiver that was ${name}`);
  let list = [];
  for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; await sleep(500)) {
    ({ data: list } = await manage('GET', `${path}/deliveries`));
    if (list.every(({ status }) => status === 'delivered')) break;
  }
  for (const { id } of list.toReversed())
    showDelivery(report, await manage('GET', `${path}/deliveries/${id}`));
  report.check('every request that arrived carried a valid signature', refused.length === 0);
}

function showDelivery(report, { id, status, attempt_count, attempts, workflow_url }) {
  report.check(`delivery ${id}: ${status} after ${attempt_count} attempt(s)`, status === 'delivered');
  let before;
  for (const { number, started_at, status_code, error } of attempts) {
    const waited = (Date.parse(started_at) - Date.parse(before ?? started_at)) / 1000;
    before = started_at;
    const after = waited > 0 ? `, ${waited.toFixed(1)} s after the one before` : '';
    report.step(`    attempt ${number}: ${status_code ?? error}${after}`);
  }
  if (workflow_url !== null) report.step(`    history: ${workflow_url}`);
}

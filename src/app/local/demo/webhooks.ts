// Second half of the demo: two receivers refuse their first deliveries and accept them later.
import type { Api, Json } from './api.ts';
import { createReceiver, type Receiver } from './receiver.ts';
import type { Report } from './report.ts';

const RETRY_AFTER_SECONDS = 4;
const DOWN_SECONDS = 6;
const RETRY_POLICY = { delays_seconds: [2, 5, 10, 20, 30, 30, 30, 30] };
const PATIENCE_MS = 180_000;

type Endpoint = { name: string; receiver: Receiver; subscription: Json; type: string; deliveries: string[] };

/** Subscribes both receivers, publishes events, waits for every delivery and checks the times of the arrivals. */
export async function deliverEvents({ api, report }: { api: Api; report: Report }) {
  const busy = createReceiver((n) =>
    n === 1 ? { status: 503, headers: { 'retry-after': String(RETRY_AFTER_SECONDS) } } : { status: 204 },
  );
  const away = createReceiver(() => ({ status: 200 }));
  try {
    report.section('Two receivers');
    const busyEndpoint = await subscribe(api, 'busy', busy);
    report.step(
      `one answers 503 with Retry-After: ${RETRY_AFTER_SECONDS} first (${busyEndpoint.subscription.url})`,
    );
    const awayEndpoint = await subscribe(api, 'away', away);
    const awayPort = Number(new URL(String(awayEndpoint.subscription.url)).port);
    await away.close();
    report.step(`one is down for ${DOWN_SECONDS} s (${awayEndpoint.subscription.url})`);

    report.section('Published events');
    await publish(api, report, busyEndpoint, [1]);
    await untilTried(api, busyEndpoint);
    report.step('the busy receiver has answered 503; what comes now has to wait for it');
    await publish(api, report, busyEndpoint, [2, 3]);
    await publish(api, report, awayEndpoint, [1, 2]);
    await pause(DOWN_SECONDS * 1000);
    await away.listen(awayPort);
    report.step('the receiver that was down is up');

    for (const endpoint of [busyEndpoint, awayEndpoint]) await followDeliveries(api, report, endpoint);
    checkRetryAfter(report, busyEndpoint);
    report.check(
      'the receiver that was down got everything once it was up',
      new Set(away.arrivals.map(({ eventId }) => eventId)).size === 2,
    );
    for (const { subscription } of [busyEndpoint, awayEndpoint])
      await api.call('DELETE', `/api/v1/webhooks/${subscription.id}`);
  } finally {
    await Promise.all([busy.close(), away.close()]);
  }
}

async function subscribe(api: Api, name: string, receiver: Receiver): Promise<Endpoint> {
  const port = await receiver.listen(0);
  const type = `demo.${name}_${Date.now().toString(36)}`;
  const subscription = await api.call('POST', '/api/v1/webhooks', {
    url: `http://127.0.0.1:${port}/webhooks`,
    event_types: [type],
    description: `demo: ${name}`,
    retry_policy: RETRY_POLICY,
  });
  receiver.useSecret(String(subscription.secret));
  return { name, receiver, subscription, type, deliveries: [] };
}

async function publish(api: Api, report: Report, endpoint: Endpoint, numbers: number[]): Promise<void> {
  for (const n of numbers) {
    const answer = await api.call('POST', '/api/v1/events', { type: endpoint.type, data: { n } });
    report.check(
      `${endpoint.type} no. ${n} accepted: event ${answer.event_id}`,
      Number(answer.deliveries) >= 1,
    );
  }
}

/** Waits until the first attempt is recorded, because only a recorded refusal affects other deliveries. */
async function untilTried(api: Api, { subscription }: Endpoint): Promise<void> {
  for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; await pause(100)) {
    const { data } = (await api.call('GET', `/api/v1/webhooks/${subscription.id}/deliveries`)) as {
      data: Json[];
    };
    if (data.some(({ attempt_count }) => Number(attempt_count) > 0)) return;
  }
}

async function followDeliveries(api: Api, report: Report, endpoint: Endpoint): Promise<void> {
  report.section(`Deliveries to the receiver that was ${endpoint.name}`);
  const deadline = Date.now() + PATIENCE_MS;
  const path = `/api/v1/webhooks/${endpoint.subscription.id}/deliveries`;
  for (;;) {
    const { data } = (await api.call('GET', path)) as { data: Json[] };
    if (data.every(({ status }) => status === 'delivered') || Date.now() > deadline) {
      for (const { id } of data.toReversed()) await showDelivery(api, report, `${path}/${id}`);
      break;
    }
    await pause(500);
  }
  report.check(
    'every request that arrived carried a valid signature',
    endpoint.receiver.arrivals.every(({ verified }) => verified),
  );
}

async function showDelivery(api: Api, report: Report, path: string): Promise<void> {
  const delivery = await api.call('GET', path);
  report.check(
    `delivery ${delivery.id}: ${delivery.status} after ${delivery.attempt_count} attempt(s)`,
    delivery.status === 'delivered',
  );
  const attempts = delivery.attempts as {
    number: number;
    started_at: string;
    status_code: number | null;
    error: string | null;
  }[];
  attempts.forEach((attempt, index) => {
    const before = attempts[index - 1];
    const waited =
      before === undefined ? 0 : (Date.parse(attempt.started_at) - Date.parse(before.started_at)) / 1000;
    report.step(
      `    attempt ${attempt.number}: ${attempt.status_code ?? attempt.error}${waited > 0 ? `, ${waited.toFixed(1)} s after the one before` : ''}`,
    );
  });
  if (delivery.workflow_url !== null) report.step(`    history: ${delivery.workflow_url}`);
}

function checkRetryAfter(report: Report, { receiver }: Endpoint): void {
  const [first, ...later] = receiver.arrivals;
  const wait =
    later.length === 0 || first === undefined
      ? 0
      : (Math.min(...later.map(({ at }) => at)) - first.at) / 1000;
  report.check(
    `Retry-After was honoured: nothing arrived for ${wait.toFixed(2)} s (asked for: ${RETRY_AFTER_SECONDS} s)`,
    wait >= RETRY_AFTER_SECONDS,
  );
  report.check(
    'all three events reached the busy receiver',
    new Set(receiver.arrivals.filter(({ status }) => status < 300).map(({ eventId }) => eventId)).size === 3,
  );
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

// The two ways of `countersign listen`: a subscription to a loopback port, or the feed of events.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { hostname } from 'node:os';
import { matches } from '../../events/filter.ts';
import { signDelivery } from '../../webhooks/signing/delivery-signature.node.ts';
import { isAlive } from '../local/processes.ts';
import { readFeed } from './event-feed.client.ts';
import { type Arrival, createLocalReceiver, type Forward, type ReceivedAnswer } from './local-receiver.ts';
import { type Json, queryOf, RefusedCall, type TenantApi } from './tenant-api.client.ts';

/** The beginning of the description of each subscription that this command makes. */
export const LISTENING = 'countersign listen';
/** What follows is the number of the process. */
const OF_THIS_MACHINE = `${LISTENING} (${hostname()}, process `;

/** Something to show. `origin` says how it came here. */
export type Shown = Omit<Arrival, 'deliveryId'> & {
  readonly origin: 'delivery' | 'feed';
  readonly deliveryId: string | null;
};

export type Listening = {
  readonly api: TenantApi;
  readonly eventTypes: readonly string[];
  readonly forward: Forward | undefined;
  readonly signal: AbortSignal;
  readonly show: (shown: Shown) => void;
};

/** @returns whether this machine can be the receiver: the service runs on it */
export function isOnThisMachine(baseUrl: string): boolean {
  const { hostname: host } = new URL(baseUrl);
  return (
    host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(\.\d+){3}$/.test(host)
  );
}

/**
 * Subscribes a loopback port of this process until the signal aborts, then removes the subscription.
 * @param onReady called with the subscription and its address
 * @param onLeft called when the subscription could not be removed
 * @param onAttempt called when the service has recorded an attempt that arrived here
 * @throws RefusedCall when the service refuses the subscription
 */
export async function listenOnPort(
  { api, eventTypes, forward, signal, show }: Listening,
  {
    secret,
    port,
    onReady,
    onLeft,
    onAttempt,
  }: {
    secret: string;
    port: number;
    onReady: (subscription: { id: string; url: string }) => Promise<void>;
    onLeft: (id: string, error: Error) => void;
    onAttempt: (delivery: Json) => void;
  },
): Promise<void> {
  const watch = createWatch(api, onAttempt);
  const receiver = createLocalReceiver({
    secret,
    forward,
    onArrival: (arrival) => {
      show({ ...arrival, origin: 'delivery' });
      if (arrival.refusal === undefined) watch(arrival);
    },
  });
  try {
    const url = await receiver.open(port);
    await removeLeftovers(api);
    const { id } = await api.call('POST', '/api/v1/webhooks', {
      url,
      secret,
      event_types: eventTypes,
      description: `${OF_THIS_MACHINE}${process.pid})`,
      retry_policy: { delays_seconds: [2, 5, 10, 30, 60] },
    });
    try {
      await onReady({ id: String(id), url });
      if (!signal.aborted) await once(signal, 'abort');
    } finally {
      await removeSubscription(api, String(id)).catch((error: Error) => onLeft(String(id), error));
    }
  } finally {
    await receiver.close();
  }
}

/**
 * Shows the events of the feed. Forwarded ones are signed anew with `secret`, since the feed has no signatures.
 * @param since the time of acceptance to begin at; now unless given
 * @param skip event ids that were shown already
 */
export async function listenToFeed(
  { api, eventTypes, forward, signal, show }: Listening,
  {
    secret,
    since,
    follow,
    skip = new Set(),
  }: { secret: string; since?: Date | undefined; follow: boolean; skip?: ReadonlySet<string> },
): Promise<void> {
  for await (const { created_at: _, ...event } of readFeed(api, { eventTypes, since, follow, signal })) {
    if (signal.aborted) return;
    // More types than a request takes were not sent.
    if (skip.has(event.event_id) || !matches(eventTypes, event.type)) continue;
    const body = Buffer.from(JSON.stringify(event));
    const answer = await forward?.({ headers: signAnew(event.type, body, secret), body });
    const shown = { at: new Date(), deliveryId: null, eventType: event.type, attempt: 1, refusal: undefined };
    show({ ...shown, origin: 'feed', body: body.toString(), answer: answer ?? NOT_SENT });
  }
}

/** The answer of an event that was only read. */
const NOT_SENT: ReceivedAnswer = { status: 0 };

function signAnew(eventType: string, body: Buffer, secret: string): Record<string, string> {
  const timestamp = Math.floor(Date.now() / 1000);
  return {
    'content-type': 'application/json',
    ...signDelivery({
      secrets: { current: secret },
      timestamp,
      maxAge: 300,
      deliveryId: randomUUID(),
      eventType,
      body,
    }),
  };
}

/** Removes subscriptions that processes of this command on this machine have left behind when they were killed. */
async function removeLeftovers(api: TenantApi): Promise<void> {
  for (const { id, description } of await findListening(api)) {
    const pid = Number.parseInt(description.slice(OF_THIS_MACHINE.length), 10);
    if (description.startsWith(OF_THIS_MACHINE) && !isAlive(pid)) await removeSubscription(api, id);
  }
}

/** One that is gone already is as it should be. */
async function removeSubscription(api: TenantApi, id: string): Promise<void> {
  await api.call('DELETE', `/api/v1/webhooks/${id}`).catch((error: unknown) => {
    if (!(error instanceof RefusedCall) || error.status !== 404) throw error;
  });
}

/** The subscriptions of this command, of the first 200 subscriptions. */
export async function findListening(
  api: Pick<TenantApi, 'call'>,
): Promise<{ id: string; description: string }[]> {
  const { data } = await api.call('GET', `/api/v1/webhooks${queryOf({ limit: '200' })}`);
  return (data as { id: string; description: string | null }[]).flatMap(({ id, description }) =>
    description?.startsWith(LISTENING) ? [{ id, description }] : [],
  );
}

/** The most deliveries that are asked about concurrently, so that many events do not use up the tenant's limit. */
const MOST_WATCHED = 4;
/** Milliseconds between the questions, and their number: an attempt is recorded soon after its answer. */
const WATCH = { interval: 250, times: 12 };

/** @returns a function that asks for a delivery until the service has recorded the attempt */
function createWatch(api: TenantApi, onAttempt: (delivery: Json) => void) {
  let watched = 0;
  return ({ deliveryId, attempt }: Arrival): void => {
    if (watched >= MOST_WATCHED) return;
    watched += 1;
    const ask = async () => {
      for (let time = 0; time < WATCH.times; time += 1) {
        await new Promise((resolve) => setTimeout(resolve, WATCH.interval).unref());
        const delivery = await api.call('GET', `/api/v1/deliveries/${deliveryId}`);
        if (Number(delivery.attempt_count) >= attempt) return onAttempt(delivery);
      }
    };
    // What it adds is an address to open: without it the listing is still right.
    void ask()
      .catch(() => undefined)
      .finally(() => {
        watched -= 1;
      });
  };
}

// A receiver on a loopback port of its own, for `countersign listen`: it verifies each delivery and may forward it.

import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fetchWhole } from '../../../packages/agent/src/whole-answer.ts';
import { verifyDelivery } from '../../../packages/receiver/src/index.ts';
import { faultOf } from './runtime.ts';

/** What is known of a request when it has been answered. `refusal` is set when it was not a delivery of ours. */
export type Arrival = {
  readonly at: Date;
  readonly deliveryId: string;
  readonly eventType: string;
  readonly attempt: number;
  readonly body: string;
  readonly refusal: string | undefined;
  readonly answer: ReceivedAnswer;
};

export type ReceivedAnswer = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  /** Why there was no answer to forward. */
  readonly fault?: string;
};

export type ForwardRequest = { readonly headers: Readonly<Record<string, string>>; readonly body: Buffer };

/** Header fields of one connection; all others are forwarded as they came. */
const OF_THE_CONNECTION = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
]);
/** Fields of a forwarded answer that change what the service does, or that it shows. */
const ANSWER_FIELDS = ['content-type', 'retry-after', 'location'];
/** Milliseconds for a forwarded request; the service itself waits for 30 s. */
const PATIENCE = 25_000;
const LARGEST_BODY = 1024 * 1024;

/**
 * @param onArrival called after each answer was sent
 * @param forward gives the answer of another receiver; without it the answer is 200
 */
export function createLocalReceiver({
  secret,
  onArrival,
  forward,
}: {
  secret: string;
  onArrival: (arrival: Arrival) => void;
  forward?: ((request: ForwardRequest) => Promise<ReceivedAnswer>) | undefined;
}) {
  const attempts = new Map<string, number>();

  const server = createServer((request, response) => {
    void take(request)
      .then(({ answer, ...arrival }) => {
        response.writeHead(answer.status, answer.headers).end(answer.body);
        onArrival({ answer, ...arrival });
      })
      .catch(() => response.destroy());
  });

  async function take(request: IncomingMessage): Promise<Arrival> {
    const at = new Date();
    const body = await readBody(request);
    const { method = '', headers } = request;
    const arrival = {
      at,
      deliveryId: String(headers['x-service-delivery'] ?? ''),
      eventType: String(headers['x-service-event'] ?? ''),
      body: body.toString(),
    };
    const verification = await verifyDelivery({ method, headers, body, secrets: secret });
    if (!verification.ok) {
      const { refusal, status } = verification;
      return { ...arrival, attempt: 0, refusal, answer: { status } };
    }
    const attempt = (attempts.get(arrival.deliveryId) ?? 0) + 1;
    attempts.set(arrival.deliveryId, attempt);
    const answer =
      forward === undefined ? { status: 200 } : await forward({ headers: keptHeaders(headers), body });
    return { ...arrival, attempt, refusal: undefined, answer };
  }

  return {
    /** @returns the address to subscribe with */
    open: async (port: number): Promise<string> => {
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    },
    close: async (): Promise<void> => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Sends deliveries on to another receiver; a receiver that does not answer is a 502. */
export function createForwarder(url: string) {
  return async ({ headers, body }: ForwardRequest): Promise<ReceivedAnswer> => {
    try {
      const request = { method: 'POST', headers, body: new Uint8Array(body), redirect: 'manual' } as const;
      const response = await fetchWhole(fetch, url, request, PATIENCE);
      const kept = ANSWER_FIELDS.flatMap((name) => {
        const value = response.headers.get(name);
        return value === null ? [] : [[name, value]];
      });
      return {
        status: response.status,
        headers: Object.fromEntries(kept) as Record<string, string>,
        body: Buffer.from(await response.arrayBuffer()),
      };
    } catch (error) {
      return { status: 502, fault: faultOf(error as Error) };
    }
  };
}

export type Forward = ReturnType<typeof createForwarder>;

function keptHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (typeof value === 'string' && !OF_THE_CONNECTION.has(name)) kept[name] = value;
  return kept;
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > LARGEST_BODY) throw new Error('a delivery is smaller than this');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

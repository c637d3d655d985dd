// A receiver for the demo: it verifies the signature of each delivery, then answers as the demo has configured.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { verifyDelivery } from '../../../../packages/receiver/src/index.ts';

export type Answer = { status: number; headers?: Record<string, string> };

/** One request that arrived; `at` in Unix milliseconds. */
export type Arrival = {
  at: number;
  deliveryId: string;
  verified: boolean;
  status: number;
  eventId: string | undefined;
};

/** @param answer returns the answer to the n-th arrival (from 1): a status, and headers such as `retry-after` */
export function createReceiver(answer: (n: number) => Answer) {
  const arrivals: Arrival[] = [];
  let secret = '';
  let server: Server | undefined;

  async function listen(port: number): Promise<number> {
    const opened = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', async () => {
        const { status, headers = {} } = await take(request, Buffer.concat(chunks));
        response.writeHead(status, headers).end();
      });
    });
    server = opened;
    opened.listen(port, '127.0.0.1');
    await once(opened, 'listening');
    return (opened.address() as AddressInfo).port;
  }

  async function take({ method, headers }: IncomingMessage, body: Buffer): Promise<Answer> {
    const result = await verifyDelivery({ method: method ?? '', headers, body, secrets: [secret] });
    const chosen = result.ok ? answer(arrivals.length + 1) : { status: result.status };
    arrivals.push({
      at: Date.now(),
      deliveryId: String(headers['x-service-delivery']),
      verified: result.ok,
      status: chosen.status,
      eventId: result.ok ? (JSON.parse(body.toString()) as { event_id: string }).event_id : undefined,
    });
    return chosen;
  }

  async function close(): Promise<void> {
    server?.closeAllConnections();
    await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
  }

  function useSecret(value: string): void {
    secret = value;
  }

  return { arrivals, listen, close, useSecret };
}

export type Receiver = ReturnType<typeof createReceiver>;

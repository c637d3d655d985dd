// A tenant's receiver for the demo: verifies each delivery's signature before anything else, and answers as it is told to.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { verifyDelivery } from '../../sdk/receiver.ts';

/** One request that arrived; `at` in Unix milliseconds. */
export type Arrival = {
  at: number;
  deliveryId: string;
  verified: boolean;
  status: number;
  eventId: string | undefined;
};

/**
 * @param answer decides the answer to the n-th arrival (from 1): a status, and headers such as `retry-after`
 */
export function createReceiver(answer: (n: number) => { status: number; headers?: Record<string, string> }) {
  const arrivals: Arrival[] = [];
  let secret = '';
  let server: Server | undefined;

  function listen(port: number): Promise<number> {
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks);
        const result = verifyDelivery({
          method: request.method ?? '',
          headers: request.headers,
          body,
          secrets: [secret],
        });
        const { status, headers = {} } = result.ok ? answer(arrivals.length + 1) : { status: result.status };
        arrivals.push({
          at: Date.now(),
          deliveryId: String(request.headers['x-service-delivery']),
          verified: result.ok,
          status,
          eventId: result.ok ? (JSON.parse(body.toString()) as { event_id: string }).event_id : undefined,
        });
        response.writeHead(status, headers).end();
      });
    });
    return new Promise((resolve, reject) => {
      server?.once('error', reject);
      server?.listen(port, '127.0.0.1', () => resolve((server?.address() as AddressInfo).port));
    });
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

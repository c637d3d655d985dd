// A receiver on loopback that answers by path as a test says, and remembers what it got.
import { setTimeout as sleep } from 'node:timers/promises';
import { type ReceivedRequest, readRequest, startReceiver } from '../webhooks/receiver/local-receiver.ts';

export type Answer = { status: number; headers?: Record<string, string>; delayMs?: number; body?: string };
export type Received = ReceivedRequest & { deliveryId: string; at: number };

export async function startScriptedReceiver() {
  const scripts = new Map<string, (request: Received, count: number) => Answer | Promise<Answer>>();
  const received: Received[] = [];
  const local = await startReceiver(async (incoming, response) => {
    const request = await readRequest(incoming);
    const entry: Received = {
      ...request,
      deliveryId: String(request.headers['x-service-delivery']),
      at: Date.now(),
    };
    received.push(entry);
    const count = received.filter(({ path }) => path === request.path).length;
    const { status, headers, delayMs, body } = (await scripts.get(request.path)?.(entry, count)) ?? {
      status: 204,
    };
    if (delayMs !== undefined) await sleep(delayMs);
    response.writeHead(status, headers);
    response.end(body);
  });
  return {
    url: `http://127.0.0.1:${local.port}`,
    host: `127.0.0.1:${local.port}`,
    received,
    of: (path: string) => received.filter((request) => request.path === path),
    /** `count` is the number of requests to the path, this one included. Unscripted paths answer 204. */
    answer: (path: string, script: (request: Received, count: number) => Answer | Promise<Answer>) =>
      void scripts.set(path, script),
    close: () => local.close(),
  };
}

export type ScriptedReceiver = Awaited<ReturnType<typeof startScriptedReceiver>>;

// A TCP proxy for Postgres that ends all connections after a statement: the answer has arrived, and the next has not been sent.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createMessageReader } from './deaf-proxy.ts';

/** The type of a ReadyForQuery: the boundary between two statements (PostgreSQL, "Message Formats"). */
const READY = 'Z'.charCodeAt(0);

/** What a client sees of the end: two errors of the server, a reset, or nothing but the end of the stream. */
export const ENDS = ['shutdown', 'idle in transaction', 'reset', 'end of stream'] as const;
export type End = (typeof ENDS)[number];

/** @returns `url` through the proxy; `cutAfter` and `close`, which cuts what is left */
export async function createCuttingProxy(url: string) {
  const target = new URL(url);
  const clients = new Set<Socket>();
  let plan: { left: number; readonly how: End; isOver: boolean } | undefined;

  const cut = (how: End): void => {
    for (const client of clients) {
      if (how === 'reset') client.resetAndDestroy();
      else if (how === 'end of stream') client.end();
      else client.end(how === 'shutdown' ? fatal('57P01') : fatal('25P03'));
    }
  };

  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    const read = createMessageReader((type, message) => {
      client.write(message);
      if (type !== READY || plan === undefined || plan.isOver) return;
      plan.left -= 1;
      if (plan.left > 0) return;
      plan.isOver = true;
      cut(plan.how);
    });
    clients.add(client);
    client.on('data', (chunk) => upstream.write(chunk));
    upstream.on('data', (chunk) => {
      if (client.writable) read(chunk);
    });
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.on('error', () => to.destroy());
      from.on('close', () => {
        clients.delete(client);
        to.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const through = new URL(url);
  through.hostname = '127.0.0.1';
  through.port = String((server.address() as AddressInfo).port);
  return {
    url: through.href,
    /** Cuts all connections once, after this many answers. @returns whether that has happened */
    cutAfter(statements: number, how: End): () => boolean {
      const own = { left: statements, how, isOver: false };
      plan = own;
      return () => own.isOver;
    },
    forget(): void {
      plan = undefined;
    },
    async close(): Promise<void> {
      server.close();
      for (const client of clients) client.destroy();
    },
  };
}

/** An ErrorResponse after which the server ends the connection. */
function fatal(code: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0Mof a test\0\0`);
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeUInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}

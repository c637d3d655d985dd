// A TCP proxy for Postgres that ends all connections after a statement: the answer has arrived, and the next has not
// been sent.
import { createMessageReader } from './deaf-proxy.ts';
import { createTcpProxy } from './tcp-proxy.ts';

/** The type of a ReadyForQuery: the boundary between two statements (PostgreSQL, "Message Formats"). */
const READY = 'Z'.charCodeAt(0);

/** What a client sees of the end: two errors of the server, a reset, or nothing but the end of the stream. */
export const ENDS = ['shutdown', 'idle in transaction', 'reset', 'end of stream'] as const;
export type End = (typeof ENDS)[number];

type Plan = { left: number; readonly how: End; isOver: boolean };

/** @returns `url` through the proxy; `cutAfter` and `close`, which cuts what is left */
export async function createCuttingProxy(url: string) {
  let plan: Plan | undefined;

  const proxy = await createTcpProxy(url, (client, upstream) => {
    const read = createMessageReader((type, message) => {
      if (type !== READY || plan === undefined || plan.isOver) return void client.write(message);
      plan.left -= 1;
      // In one packet with the error that ends the connection, as a client reads it that is slower than its server.
      if (plan.left === 0 && plan.how === 'shutdown') client.end(Buffer.concat([message, FATAL[plan.how]]));
      else client.write(message);
      if (plan.left === 0) cut(plan);
    });
    client.on('data', (chunk) => upstream.write(chunk));
    upstream.on('data', (chunk) => {
      if (client.writable) read(chunk);
    });
  });

  const cut = (own: Plan): void => {
    own.isOver = true;
    for (const client of proxy.clients) {
      if (own.how === 'reset') client.resetAndDestroy();
      else if (own.how === 'end of stream') client.end();
      else if (!client.writableEnded) client.end(FATAL[own.how]);
    }
  };

  return {
    url: proxy.url,
    close: proxy.close,
    /** Cuts all connections once, after this many answers. @returns whether that has happened */
    cutAfter(statements: number, how: End): () => boolean {
      const own = { left: statements, how, isOver: false };
      plan = own;
      return () => own.isOver;
    },
    forget(): void {
      plan = undefined;
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

const FATAL = { shutdown: fatal('57P01'), 'idle in transaction': fatal('25P03') } as const;

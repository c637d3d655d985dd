// A TCP proxy for Postgres that passes everything on but notifications: whoever listens through it hears nothing, and is told of no fault.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** The type of a NotificationResponse (PostgreSQL, "Message Formats"). */
const NOTIFICATION = 'A'.charCodeAt(0);

/** @returns `url` through the proxy; `withheld`, how many notifications did not arrive; `close`, which cuts what is left */
export async function createDeafProxy(url: string) {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let withheld = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    const read = createMessageReader((type, message) => {
      if (type === NOTIFICATION) withheld += 1;
      else client.write(message);
    });
    client.on('data', (chunk) => upstream.write(chunk));
    upstream.on('data', read);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
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
    withheld: () => withheld,
    async close(): Promise<void> {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Cuts a server's stream into messages: a type, then a length that counts itself. */
export function createMessageReader(onMessage: (type: number, message: Buffer) => void) {
  let rest = Buffer.alloc(0);
  return (chunk: Buffer): void => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 5) {
      const end = 1 + rest.readUInt32BE(1);
      if (rest.length < end) return;
      onMessage(rest[0] ?? 0, rest.subarray(0, end));
      rest = rest.subarray(end);
    }
  };
}

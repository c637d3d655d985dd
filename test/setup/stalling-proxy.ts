// A TCP proxy that stops passing anything on, as a stopped server does: connections stay open, and nothing is answered.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** @returns `url` through the proxy; `stall` and `resume`; `close`, which cuts what is left */
export async function createStallingProxy(url: string) {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let stalled = false;
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk) => to.write(chunk));
      from.on('end', () => to.end());
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      if (stalled) from.pause();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const through = new URL(url);
  through.hostname = '127.0.0.1';
  through.port = String((server.address() as AddressInfo).port);
  return {
    url: through.href,
    stall(): void {
      stalled = true;
      for (const socket of sockets) socket.pause();
    },
    resume(): void {
      stalled = false;
      for (const socket of sockets) socket.resume();
    },
    async close(): Promise<void> {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

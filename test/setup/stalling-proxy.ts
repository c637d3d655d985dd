// A TCP proxy that stops passing anything on, as a stopped server does: connections stay open, and nothing is answered.
import { createTcpProxy } from './tcp-proxy.ts';

/** @returns `url` through the proxy; `stall`, `resume`; how many `connections` it has; `close`, which cuts them */
export async function createStallingProxy(url: string) {
  let stalled = false;
  const proxy = await createTcpProxy(
    url,
    (client, upstream) => {
      for (const [from, to] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        from.on('data', (chunk) => to.write(chunk));
        from.on('end', () => to.end());
        if (stalled) from.pause();
      }
    },
    { allowHalfOpen: true },
  );
  return {
    url: proxy.url,
    stall(): void {
      stalled = true;
      for (const socket of proxy.sockets) socket.pause();
    },
    resume(): void {
      stalled = false;
      for (const socket of proxy.sockets) socket.resume();
    },
    connections: (): number => proxy.sockets.size,
    close: proxy.close,
  };
}

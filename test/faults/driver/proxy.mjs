// A TCP proxy whose network can fail: connections are cut, refused, stalled, delayed, or ended in one direction.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/**
 * @param target gives the port on loopback to which a new connection goes
 * @param host the address on which the proxy listens
 */
export async function createProxy(target, { host = '127.0.0.1' } = {}) {
  const pairs = new Set();
  const state = { refuses: false, stalls: false, delay: 0 };

  const server = createServer({ allowHalfOpen: true }, (client) => {
    if (state.refuses) return void client.on('error', () => undefined).resetAndDestroy();
    const upstream = connect({ port: target(), host: '127.0.0.1', allowHalfOpen: true });
    const pair = { client, upstream };
    pairs.add(pair);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ])
      pass(from, to, pair);
  });

  const pass = (from, to, pair) => {
    let free = 0;
    const later = (action) => {
      // What comes later never overtakes what came before.
      free = Math.max(free, performance.now() + state.delay);
      const wait = free - performance.now();
      if (wait <= 0) action();
      else setTimeout(action, wait);
    };
    from.setNoDelay(true);
    from.on('data', (chunk) => later(() => to.writable && to.write(chunk)));
    from.on('end', () => later(() => to.end()));
    from.on('error', () => to.destroy());
    from.on('close', () => {
      pairs.delete(pair);
      to.destroy();
    });
    if (state.stalls) from.pause();
  };

  const each = (action) => {
    for (const pair of [...pairs]) action(pair);
  };
  server.listen(0, host);
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    port,
    cut: () => each(({ client, upstream }) => [client, upstream].map((socket) => socket.resetAndDestroy())),
    refuse: (refuses) => {
      state.refuses = refuses;
    },
    stall: (stalls) => {
      state.stalls = stalls;
      each(({ client, upstream }) =>
        [client, upstream].map((socket) => (stalls ? socket.pause() : socket.resume())),
      );
    },
    delay: (milliseconds) => {
      state.delay = milliseconds;
    },
    /** The side that called (`client`) or the other one is told that nothing more will come; the connection stays. */
    endHalf: (side) => each((pair) => pair[side].end()),
    close: () => {
      server.close();
      each(({ client, upstream }) => [client, upstream].map((socket) => socket.destroy()));
    },
  };
}

// A TCP proxy between the service and a server, for tests of what the network may do.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * Starts a proxy on loopback. When one side of a connection ends in any way, so does the other.
 * @param url of the server
 * @param pass passes on what the sockets of a new connection receive
 * @returns `url` through the proxy; `clients` and `sockets` (of both sides) that are open; `close`, which cuts them
 */
export async function createTcpProxy(
  url: string,
  pass: (client: Socket, upstream: Socket) => void,
  { allowHalfOpen = false, port = 0 } = {},
) {
  const target = new URL(url);
  const clients = new Set<Socket>();
  const sockets = new Set<Socket>();
  // As the clients of Postgres and Temporal have it: without, each small answer takes 40 ms for the other side's ACK.
  const server = createServer({ allowHalfOpen, noDelay: true }, (client) => {
    const upstream = connect({ port: Number(target.port), host: target.hostname, noDelay: true });
    clients.add(client);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        clients.delete(from);
        to.destroy();
      });
    }
    pass(client, upstream);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const through = new URL(url);
  through.hostname = '127.0.0.1';
  through.port = String((server.address() as AddressInfo).port);
  return {
    url: through.href,
    clients: clients as ReadonlySet<Socket>,
    sockets: sockets as ReadonlySet<Socket>,
    async close(): Promise<void> {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

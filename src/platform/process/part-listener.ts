// The port of the api role. A single process listens itself; several processes receive connections from the supervisor
// in turn.
import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { hear, isSupervised, tell } from './part-protocol.ts';

/** `drain` stops accepting, waits at most `limit` milliseconds for answers, then closes the remaining connections. */
export type Listener = { readonly port: number; drain(limit: number): Promise<void> };

/**
 * Begins to serve.
 * @param server not listening yet
 * @param place address and port to listen on, unless the supervisor passes connections
 * @throws the system's error, EADDRINUSE for a busy port
 */
export async function listen(server: Server, place: { host: string; port: number }): Promise<Listener> {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  const given = isSupervised() && (await askForConnections()) === 'given';
  if (given) takeConnections(server);
  else await listenItself(server, place);
  return {
    port: given ? place.port : (server.address() as AddressInfo).port,
    async drain(limit) {
      server.close(() => undefined);
      for (const deadline = Date.now() + limit; open.size > 0 && Date.now() < deadline; await sleep(50)) {
        server.closeIdleConnections();
      }
      for (const socket of open) socket.destroy();
    },
  };
}

function askForConnections(): Promise<'yourself' | 'given'> {
  return new Promise((resolve) => {
    hear((message) => {
      if ('listen' in message) resolve(message.listen);
    });
    tell({ ask: 'listen' });
  });
}

function takeConnections(server: Server): void {
  // After this event Node tracks the server's connections and enforces its time limits.
  server.emit('listening');
  hear((message, socket) => {
    if ('connection' in message && socket !== undefined) server.emit('connection', socket);
  });
}

function listenItself(server: Server, { host, port }: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    // The listener stays registered, because a connection that fails to be accepted must not end the process.
    server.on('error', reject);
    server.listen({ host, port }, () => resolve());
  });
}

// Watches the sockets that this process connects: to where, how much was read from them, and which are still open.
import { Socket } from 'node:net';
import { vi } from 'vitest';

type Target = { host?: string | undefined; port?: number | string | undefined };

/** @returns the sockets that were connected since, plain and TLS; one that was closed stays in the list */
export function watchClientSockets() {
  const opened: { socket: Socket; host: string | undefined; port: number }[] = [];
  const connect = Socket.prototype.connect;
  const spy = vi.spyOn(Socket.prototype, 'connect').mockImplementation(function (
    this: Socket,
    ...args: unknown[]
  ) {
    // Node's own callers give the options inside an array.
    const [first] = args;
    const target: Target = Array.isArray(first) ? first[0] : (first as Target);
    opened.push({ socket: this, host: target.host, port: Number(target.port) });
    return Reflect.apply(connect, this, args);
  });
  const to = (port: number) => opened.filter((entry) => entry.port === port).map(({ socket }) => socket);
  return {
    all: () => opened.map(({ host, port }) => `${host}:${port}`),
    /** Those to this port. */
    to,
    /** How many of them are open. */
    openTo: (port: number) => to(port).filter(({ destroyed }) => !destroyed).length,
    /** Bytes that were read from the busiest of them. */
    mostReadFrom: (port: number) => Math.max(0, ...to(port).map(({ bytesRead }) => bytesRead)),
    stop: () => spy.mockRestore(),
  };
}

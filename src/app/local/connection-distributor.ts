// Accepts connections for several api processes and passes each to the next process in turn. It reads no bytes.
import type { ChildProcess } from 'node:child_process';
import { createServer, type Socket } from 'node:net';
import { portBusy } from './ports.ts';

/** Connections that may wait while no api process runs; further connections are closed. */
const MOST_WAITING = 1_000;

/**
 * @returns `add` and `remove` an api process; `close` stops accepting
 * @throws LocalStackError when the port is busy
 */
export async function createConnectionDistributor(place: { host: string; port: number }) {
  const parts: ChildProcess[] = [];
  const waiting: Socket[] = [];
  let turn = 0;

  function give(socket: Socket): void {
    const part = parts[turn++ % Math.max(1, parts.length)];
    if (part === undefined) {
      if (waiting.push(socket) > MOST_WAITING) waiting.shift()?.destroy();
      return;
    }
    part.send({ connection: true }, socket, undefined, (error) => {
      if (error !== null) socket.destroy();
    });
  }

  const server = createServer({ pauseOnConnect: true, noDelay: true }, (socket) => {
    socket.on('error', () => undefined);
    give(socket);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const busy = error.code === 'EADDRINUSE';
      reject(busy ? portBusy({ port: place.port, variable: 'PORT', part: 'the API' }) : error);
    });
    server.listen(place, resolve);
  });
  server.on('error', () => undefined);

  return {
    add(part: ChildProcess): void {
      parts.push(part);
      for (const socket of waiting.splice(0)) give(socket);
    },
    remove(part: ChildProcess): void {
      const index = parts.indexOf(part);
      if (index >= 0) parts.splice(index, 1);
    },
    close(): void {
      server.close();
      for (const socket of waiting.splice(0)) socket.destroy();
    },
  };
}

export type ConnectionDistributor = Awaited<ReturnType<typeof createConnectionDistributor>>;

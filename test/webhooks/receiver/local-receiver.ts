// Receivers on loopback for the tests: ordinary ones over HTTP and HTTPS, and raw sockets for hostile ones.
import { readFileSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import {
  type AddressInfo,
  createServer as createRawServer,
  type Server as RawServer,
  type Socket,
} from 'node:net';
import type { TlsOptions } from 'node:tls';

const folder = new URL('./certificates/', import.meta.url);
const pem = (name: string) => readFileSync(new URL(name, folder), 'utf8');

/** The file of the authority that vouches for the test receivers (receiver.test, localhost, 127.0.0.1, ::1). */
export const AUTHORITY_FILE = new URL('authority.pem', folder).pathname;

/** A receiver that listens; `connections` counts the sockets it took. */
export type LocalReceiver = { port: number; connections: () => number; close(): Promise<void> };

export type ReceivedRequest = {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  rawHeaders: string[];
  body: Buffer;
};

/** Reads a request to its end. */
export async function readRequest(request: IncomingMessage): Promise<ReceivedRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const { method = '', url: path = '', headers, rawHeaders } = request;
  return { method, path, headers, rawHeaders, body: Buffer.concat(chunks) };
}

export function startReceiver(listener: RequestListener, host = '127.0.0.1'): Promise<LocalReceiver> {
  return listen(createServer(listener), host);
}

export function startSecureReceiver(
  listener: (request: IncomingMessage, response: ServerResponse) => void,
  certificate = 'receiver.pem',
  options: TlsOptions = {},
): Promise<LocalReceiver> {
  return listen(
    createSecureServer({ key: pem('receiver-key.pem'), cert: pem(certificate), ...options }, listener),
    '127.0.0.1',
  );
}

/** A receiver that gets bare sockets. Errors on them are expected and ignored. */
export function startRawReceiver(onSocket: (socket: Socket) => void): Promise<LocalReceiver> {
  const server = createRawServer((socket) => {
    socket.on('error', () => {});
    onSocket(socket);
  });
  return listen(server, '127.0.0.1');
}

async function listen(server: Server | RawServer, host: string): Promise<LocalReceiver> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

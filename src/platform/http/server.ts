// Serves a Koa application with time limits on every step that a client can delay. A stop waits for answers under way.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type Koa from 'koa';
import { createRoom } from '../room.ts';
import { answerParserErrors, refuseTunnels } from './parser-errors.ts';
import type { RequestState } from './request-state.ts';

/** Milliseconds, and bytes for sizes. A load balancer must close idle connections before `keepAlive` ends. */
export type ServerLimits = {
  readonly headers: number;
  readonly request: number;
  /** A connection ends whose client has taken nothing of its answer for so long. */
  readonly answer: number;
  readonly keepAlive: number;
  readonly checkEvery: number;
  readonly headerBytes: number;
};

const LIMITS: ServerLimits = {
  headers: 15_000,
  request: 30_000,
  answer: 15_000,
  keepAlive: 75_000,
  checkEvery: 2_000,
  headerBytes: 16_384,
};

/**
 * Requests that came behind another one of their connection: of a connection, of an address, and of the process. They
 * have come in one piece; nothing more is read from their connection.
 */
const BEHIND = { client: 512, tenant: 4_096, process: 8_192 };

/** `response`: to the request that is worked on. */
type Connection = { response: ServerResponse | undefined; readonly behind: (() => void)[] };

/**
 * @param options.errorTypeBase base address of error type URIs, for requests that Node's parser refuses
 * @param options.limits replace the defaults
 * @returns `server`; `listen`, which resolves to the port, and rejects with the system's error; `drain`
 */
export function createHttpServer(
  app: Koa<RequestState>,
  { errorTypeBase, limits = {} }: { errorTypeBase: string; limits?: Partial<ServerLimits> },
) {
  const { headers, request, answer, keepAlive, checkEvery, headerBytes } = { ...LIMITS, ...limits };
  const handle = app.callback();
  /** Its entries change with connections alone: the tables that a Map leaves behind would keep requests in them. */
  const open = new Map<Duplex, Connection>();
  const room = createRoom(BEHIND);
  /** Connections whose next request may have come in part: since when they are read again, or Infinity. */
  const inPart = new WeakMap<Duplex, { since: number }>();
  let draining = false;
  let onClosed = (): void => undefined;

  /** Requests of one connection are worked on one after the other (RFC 9112 §9.3.2). */
  const onRequest = (incoming: IncomingMessage, response: ServerResponse): void => {
    const { socket } = incoming;
    const connection = open.get(socket);
    if (connection === undefined) return;
    inPart.delete(socket);
    if (connection.response === undefined) {
      begin(connection, incoming, response);
      return;
    }
    const { remoteAddress = '', remotePort } = socket;
    const giveBack = room.take({ tenant: remoteAddress, client: String(remotePort) }, 1);
    if (giveBack === undefined) {
      socket.destroy();
      return;
    }
    socket.pause();
    inPart.set(socket, { since: Number.POSITIVE_INFINITY });
    socket.once('close', giveBack).setMaxListeners(0);
    connection.behind.push(() => {
      socket.off('close', giveBack);
      giveBack();
      begin(connection, incoming, response);
    });
  };

  function begin(connection: Connection, incoming: IncomingMessage, response: ServerResponse): void {
    const { socket } = incoming;
    connection.response = response;
    response.on('close', () => {
      const next = socket.writable ? connection.behind.shift() : undefined;
      if (next === undefined) connection.response = undefined;
      else {
        if (connection.behind.length === 0) {
          const part = inPart.get(socket);
          if (part !== undefined) part.since = performance.now();
          socket.resume();
        }
        setImmediate(next);
      }
      // An answer whose headers were sent before the end leaves its connection open, so it is closed here.
      if (!server.listening) setImmediate(() => server.closeIdleConnections());
    });
    // Node takes a write that moves, however slowly, for activity. What is still worked on has no bytes that wait.
    response.setTimeout(answer, () => {
      if (socket.writableLength > 0) socket.destroy();
    });
    if (draining) response.setHeader('connection', 'close');
    // Koa answers every failure, so this promise never rejects.
    void handle(incoming, response);
  }

  const server = createServer(
    {
      maxHeaderSize: headerBytes,
      headersTimeout: headers,
      requestTimeout: request,
      keepAliveTimeout: keepAlive,
      connectionsCheckingInterval: checkEvery,
      // Node's own answer to a missing Host would have no request id, so the application refuses the request.
      requireHostHeader: false,
      noDelay: true,
    },
    onRequest,
  );
  // Node would drop further fields without a word. `headerBytes` bounds them, and the application counts them.
  server.maxHeadersCount = 0;
  // An unknown `Expect` is ignored (RFC 9110 §10.1.1). Node's own answer would have no request id.
  server.on('checkExpectation', onRequest);
  server.on('connection', (socket: Duplex) => {
    const connection: Connection = { response: undefined, behind: [] };
    open.set(socket, connection);
    socket.on('close', () => {
      open.delete(socket);
      onClosed();
    });
    // Node resumes a connection after each answer.
    socket.on('resume', () => {
      if (connection.behind.length > 0) socket.pause();
    });
  });
  const current = (socket: Duplex) => open.get(socket)?.response;
  const answerError = answerParserErrors(errorTypeBase, current);
  server.on('clientError', function onError(error: Error & { code?: string }, socket: Duplex): void {
    const part = inPart.get(socket);
    // The rest of a request could not arrive while its connection was not read. Node says so of each request once.
    const left = part === undefined ? 0 : Math.min(part.since + request - performance.now(), request);
    if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT' || left <= 0) answerError(error, socket);
    else
      setTimeout(() => {
        if (!socket.destroyed && inPart.get(socket) === part) onError(error, socket);
      }, left).unref();
  });
  server.on('connect', refuseTunnels(errorTypeBase, current));

  /** Waits until no connection is left, for `milliseconds` at most. */
  async function untilUnused(milliseconds: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      timer = setTimeout(resolve, milliseconds);
      onClosed = () => server.getConnections((_, count) => count === 0 && resolve());
      onClosed();
    });
    clearTimeout(timer);
  }

  return {
    server,
    listen: (place: { port: number; host: string }) => listen(server, place),
    /**
     * Closes each connection with its next answer; after `linger` stops accepting, closes idle connections, waits for
     * answers under way, and closes their connections.
     * @param deadline milliseconds after which the remaining connections are destroyed
     * @param linger milliseconds for requests that a proxy sends on connections that it holds open; without
     *   connections none are waited for
     */
    async drain(deadline = 10_000, linger = 0): Promise<void> {
      draining = true;
      for (const { response } of open.values())
        if (response?.headersSent === false) response.setHeader('connection', 'close');
      const cut = setTimeout(() => server.closeAllConnections(), deadline);
      if (linger > 0) await untilUnused(linger);
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      await closed;
      clearTimeout(cut);
    },
  };
}

function listen(server: Server, { port, host }: { port: number; host: string }): Promise<{ port: number }> {
  return new Promise((resolve, reject) => {
    // The listener stays registered, because a connection that fails to be accepted must not end the process.
    server.on('error', reject);
    server.once('listening', () => {
      const address = server.address();
      resolve({ port: typeof address === 'object' && address !== null ? address.port : 0 });
    });
    server.listen({ port, host });
  });
}

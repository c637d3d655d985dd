// The undici dispatcher of all requests to addresses that tenants choose. It follows no redirect and opens every
// connection by the guarded connector.

import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { rootCertificates } from 'node:tls';
import { Agent, Client, type Dispatcher, Pool } from 'undici';
import { type AddressLookup, createAddressLookup } from './address.client.ts';
import { parseNetworks } from './address-rules.ts';
import {
  type ConnectionTrace,
  createGuardedConnect,
  type GuardedConnect,
} from './guarded-connection.client.ts';
import { passInformational } from './informational-answers.ts';

/** The most bytes of the names and values of an answer's headers: cookies and policies of a gateway can be long. */
export const MAX_RESPONSE_HEADER_BYTES = 64 * 1024;

// Below the 5 s after which many servers close an idle connection without a word. An announced time-out counts instead.
const KEEP_ALIVE_MS = 4_000;
const KEEP_ALIVE_MAX_MS = 60_000;
// A connection closes after this many requests, so that even a busy endpoint follows a changed DNS record.
const REQUESTS_PER_CONNECTION = 1000;

/**
 * Request options with a `trace`, to which the dispatcher writes how the connection was opened. With `isFresh` the
 * request has a new connection, which closes afterwards.
 */
export type TracedDispatchOptions = Dispatcher.DispatchOptions & {
  trace?: ConnectionTrace;
  isFresh?: boolean;
};

export type GuardedAgent = ReturnType<typeof createGuardedAgent>;

/** A new trace for one request. On a reused connection the times of its phases stay null. */
export function newConnectionTrace(): ConnectionTrace {
  return {
    phase: 'response',
    dnsMs: null,
    connectMs: null,
    tlsMs: null,
    remoteAddress: null,
    dialing: null,
    socket: null,
    abandoned: false,
  };
}

/**
 * Makes the guarded dispatcher. It keeps connections alive per origin, and rejects with `EgressError` when it cannot
 * connect.
 * @param allowedNetworks CIDR blocks that are admitted in addition to public addresses, also for plain `http`
 * @param caFile a PEM file of certificate authorities, added to Node's own
 * @param insecureReceivers accept any certificate inside the admitted networks; only for local development
 * @param internalNames true: also resolve names that only this system knows; false where strangers choose the names
 * @param lookup resolves host names; the default queries DNS
 * @param connectTimeoutMs time limit for a TCP and TLS connection
 * @throws {Error} when a block is malformed or the file cannot be read
 */
export function createGuardedAgent({
  allowedNetworks = [],
  caFile,
  insecureReceivers = false,
  internalNames = true,
  lookup = createAddressLookup({ internalNames }),
  connectTimeoutMs = 15_000,
}: {
  allowedNetworks?: readonly string[] | undefined;
  caFile?: string | undefined;
  insecureReceivers?: boolean | undefined;
  internalNames?: boolean | undefined;
  lookup?: AddressLookup | undefined;
  connectTimeoutMs?: number | undefined;
} = {}) {
  const admittedNetworks = parseNetworks(allowedNetworks);
  const connect = createGuardedConnect({
    admittedNetworks,
    certificateAuthorities:
      caFile === undefined ? undefined : [...rootCertificates, readFileSync(caFile, 'utf8')],
    insecureReceivers,
    lookup,
    connectTimeoutMs,
  });
  const dispatcher = new GuardedDispatcher({
    factory: (origin) => new Pool(origin, { factory: (client) => new TracingClient(client, connect) }),
  });

  return {
    dispatcher,
    admittedNetworks,
    close: () => dispatcher.end(),
  };
}

class GuardedDispatcher extends Agent {
  // Its connections serve one request each, so none of them is ever a kept one.
  readonly #fresh: Agent;

  constructor(options: Agent.Options) {
    super(options);
    this.#fresh = new Agent(options);
  }

  override dispatch(options: TracedDispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if (options.isFresh !== true) return super.dispatch(options, handler);
    return this.#fresh.dispatch({ ...options, reset: true }, handler);
  }

  async end(): Promise<void> {
    await Promise.all([this.destroy(), this.#fresh.destroy()]);
  }
}

// A client has one connection with one request at a time, so the connection can write to the trace of its request.
class TracingClient extends Client {
  #trace = newConnectionTrace();
  #remoteAddress: string | null = null;
  #socket: Socket | null = null;
  #beginAnswer = () => {};

  constructor(origin: string | URL, connect: GuardedConnect) {
    super(origin, {
      pipelining: 1,
      maxHeaderSize: MAX_RESPONSE_HEADER_BYTES,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MAX_MS,
      maxRequestsPerClient: REQUESTS_PER_CONNECTION,
      connect: (target, callback) => {
        const trace = this.#trace;
        connect(target, trace).then(
          (socket) => {
            this.#remoteAddress = trace.remoteAddress;
            this.#socket = socket;
            trace.socket = socket;
            this.#beginAnswer = passInformational(socket);
            callback(null, socket);
          },
          (error: Error) => callback(error, null),
        );
      },
    });
  }

  override dispatch(options: TracedDispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    this.#trace = options.trace ?? newConnectionTrace();
    this.#trace.remoteAddress = this.#remoteAddress;
    this.#trace.socket = this.#socket;
    this.#beginAnswer();
    return super.dispatch(options, handler);
  }
}

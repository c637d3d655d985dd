// Opens the sockets of outgoing requests. Every address, also an IP literal, is judged before the connection and not
// resolved again.

import { Socket } from 'node:net';
import { createSecureContext } from 'node:tls';
import { buildConnector } from 'undici';
import type { AddressLookup } from './address.client.ts';
import {
  type AddressVerdict,
  alternateFamilies,
  canonicalAddress,
  judgeAddress,
  type Network,
} from './address-rules.ts';

/** The phase of a connection, and the milliseconds of each phase (null: the phase did not happen). */
export type ConnectionTrace = {
  phase: 'dns' | 'address' | 'connect' | 'tls' | 'response';
  dnsMs: number | null;
  connectMs: number | null;
  tlsMs: number | null;
  remoteAddress: string | null;
  dialing: Socket | null;
  socket: Socket | null;
  /** True when the request no longer waits for the connection. */
  abandoned: boolean;
};

/** No connection was opened. `code`: the error code of the system or OpenSSL, or the name of the rule that refused. */
export class EgressError extends Error {
  readonly phase: ConnectionTrace['phase'];
  readonly code: string;

  constructor(phase: ConnectionTrace['phase'], code: string, cause?: unknown) {
    super(`${phase}: ${code}`, { cause });
    this.name = 'EgressError';
    this.phase = phase;
    this.code = code;
  }
}

/** Cancels the opening of a connection; an open connection stays open. */
export function abandonConnection(trace: ConnectionTrace): void {
  trace.abandoned = true;
  trace.dialing?.destroy(new EgressError(trace.phase, 'ABANDONED'));
}

type ConnectorOptions = {
  /** Networks that the operator admits in addition to public addresses, also for plain `http`. */
  admittedNetworks: readonly Network[];
  /** All certificate authorities in PEM; undefined: Node's own. */
  certificateAuthorities?: string[] | undefined;
  /** Accept any certificate, in admitted networks only. For local development. */
  insecureReceivers?: boolean | undefined;
  lookup: AddressLookup;
};

/** Opens a guarded connection, and writes its progress to the trace. */
export type GuardedConnect = (target: buildConnector.Options, trace: ConnectionTrace) => Promise<Socket>;

// The addresses are tried in sequence, of both families in turn, because a process can lack either. All but the last
// get a short time, so that a dead address does not use up the attempt.
const MAX_ADDRESSES = 4;
const ADDRESS_TIMEOUT_MS = 3000;

/**
 * Wraps undici's connector. It resolves all addresses of the host and judges each; one refused address refuses the
 * host. It connects to a judged address with the host's name in SNI, and compares the peer's address before it sends
 * anything.
 * @param connectTimeoutMs time limit for TCP and TLS to one address
 * @returns a function that rejects with {@link EgressError}
 */
export function createGuardedConnect({
  admittedNetworks,
  certificateAuthorities,
  insecureReceivers = false,
  lookup,
  connectTimeoutMs,
}: ConnectorOptions & { connectTimeoutMs: number }): GuardedConnect {
  // One context for all connections, because a context costs milliseconds: the first connection makes it, or the start
  // where the operator's authorities have to be read.
  let made: ReturnType<typeof makeConnectors> | undefined;
  const connectors = () => {
    made ??= makeConnectors({ certificateAuthorities, connectTimeoutMs });
    return made;
  };
  if (certificateAuthorities !== undefined) connectors();
  const connectorFor = (verdict: AddressVerdict) =>
    insecureReceivers && verdict.reason === 'admitted' ? connectors().unvouched : connectors().vouched;

  return async (target, trace) => {
    const verdicts = await judgeHost(target, trace);
    const tried = alternateFamilies(verdicts).slice(0, MAX_ADDRESSES);
    let failure = new EgressError('dns', 'ENODATA');
    for (const [index, verdict] of tried.entries()) {
      const patience = index < tried.length - 1 ? ADDRESS_TIMEOUT_MS : undefined;
      try {
        return await dial(connectorFor(verdict), target, verdict.address, trace, patience);
      } catch (error) {
        if (!(error instanceof EgressError) || error.phase !== 'connect' || trace.abandoned) throw error;
        failure = error;
      }
    }
    throw failure;
  };

  async function judgeHost(
    target: buildConnector.Options,
    trace: ConnectionTrace,
  ): Promise<AddressVerdict[]> {
    trace.phase = 'dns';
    trace.remoteAddress = null;
    const began = performance.now();
    const addresses = await lookup(target.hostname).catch((error: unknown) => {
      throw new EgressError('dns', errorCode(error), error);
    });
    trace.dnsMs = performance.now() - began;
    if (trace.abandoned) throw new EgressError('dns', 'ABANDONED');
    if (addresses.length === 0) throw new EgressError('dns', 'ENODATA');
    trace.phase = 'address';
    const verdicts = addresses.map((address) => judgeAddress(address, admittedNetworks));
    for (const verdict of verdicts) {
      if (!verdict.allowed) throw new EgressError('address', verdict.reason);
      if (target.protocol === 'http:' && verdict.reason !== 'admitted')
        throw new EgressError('address', 'plain_http');
    }
    return verdicts;
  }
}

function dial(
  connector: buildConnector.connector,
  target: buildConnector.Options,
  address: string,
  trace: ConnectionTrace,
  patienceMs: number | undefined,
): Promise<Socket> {
  trace.phase = 'connect';
  const began = performance.now();
  let phaseBegan = began;
  return new Promise((resolve, reject) => {
    // The connector returns its socket, although its type does not say so. Only the address is replaced; host and SNI
    // stay those of the target.
    const socket: unknown = connector({ ...target, hostname: address }, (error, connected) => {
      trace.dialing = null;
      if (error !== null) return reject(new EgressError(trace.phase, errorCode(error), error));
      if (target.protocol === 'https:') trace.tlsMs = performance.now() - phaseBegan;
      trace.phase = 'response';
      trace.remoteAddress = address;
      resolve(connected);
    });
    if (!(socket instanceof Socket)) return reject(new Error('the connector gave no socket'));
    trace.dialing = socket;
    const patience =
      patienceMs === undefined
        ? undefined
        : setTimeout(() => socket.destroy(new EgressError('connect', 'ETIMEDOUT')), patienceMs);
    socket.once('close', () => clearTimeout(patience));
    // The first listener, so that nothing is sent when the peer has another address than the judged one.
    socket.prependOnceListener('connect', () => {
      clearTimeout(patience);
      trace.connectMs = performance.now() - began;
      phaseBegan = performance.now();
      if (canonicalAddress(socket.remoteAddress ?? '') !== address) {
        trace.phase = 'address';
        socket.destroy(new EgressError('address', 'changed'));
      } else if (target.protocol === 'https:') {
        trace.phase = 'tls';
      }
    });
  });
}

/** The code of an error of the system, OpenSSL or undici; without a code, the name of the error. */
export function errorCode(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  return error instanceof Error ? error.name : 'unknown';
}

function makeConnectors({
  certificateAuthorities: ca,
  connectTimeoutMs: timeout,
}: Pick<ConnectorOptions, 'certificateAuthorities'> & { connectTimeoutMs: number }) {
  const secureContext = createSecureContext(ca === undefined ? {} : { ca });
  return {
    vouched: buildConnector({ secureContext, timeout }),
    unvouched: buildConnector({ secureContext, timeout, rejectUnauthorized: false }),
  };
}

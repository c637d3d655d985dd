// Asks whether Temporal answers, by the one gRPC call that this takes, over HTTP/2 of Node.js: for processes that make
// no other call of Temporal, and so do not load its SDK.
import { type ClientHttp2Session, connect, type SecureClientSessionOptions } from 'node:http2';
import { within } from '../within.ts';
import { connectionOptions, type TemporalSettings } from './connection-options.ts';

const PATH = '/temporal.api.workflowservice.v1.WorkflowService/DescribeNamespace';

/** Milliseconds, for the connection and the answer together. */
const PATIENCE = 1_000;

/** What the SDK takes where an address has no port. */
const DEFAULT_PORT = 7_233;

/**
 * Checks within a second whether Temporal answers.
 * @returns false when it does not answer, or does not know the namespace
 */
export async function askTemporal(
  settings: TemporalSettings & { readonly namespace: string },
): Promise<boolean> {
  const { address, tls, apiKey, metadata } = connectionOptions(settings);
  const host = /:\d+$/.test(address) ? address : `${address}:${DEFAULT_PORT}`;
  const session = connect(`${tls ? 'https' : 'http'}://${host}`, tls ? tlsOptions(tls) : {});
  try {
    const asked = describe(session, settings.namespace, headersOf(apiKey, metadata));
    return (await within(PATIENCE, asked, () => undefined)) === '0';
  } catch {
    return false;
  } finally {
    session.destroy();
  }
}

/** @returns the status of gRPC: `0` for success; undefined when the server does not speak it */
function describe(
  session: ClientHttp2Session,
  namespace: string,
  headers: Record<string, string>,
): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    let status: string | undefined;
    const read = (given: Record<string, unknown>) => {
      const found = given['grpc-status'];
      if (typeof found === 'string') status = found;
    };
    session.on('error', reject);
    const request = session.request({
      ':method': 'POST',
      ':path': PATH,
      'content-type': 'application/grpc',
      te: 'trailers',
      'temporal-namespace': namespace,
      ...headers,
    });
    // A failed call has its status in the headers, any other in the trailers.
    request.on('response', read).on('trailers', read).on('error', reject);
    request.on('close', () => resolve(status));
    request.resume();
    request.end(messageOf(namespace));
  });
}

/** The message `DescribeNamespaceRequest { namespace }` of Protocol Buffers, after the five bytes of gRPC. */
function messageOf(namespace: string): Buffer {
  const name = Buffer.from(namespace);
  const field = Buffer.concat([Buffer.of(0x0a, ...varint(name.length)), name]);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(field.length, 1);
  return Buffer.concat([prefix, field]);
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
}

type Options = ReturnType<typeof connectionOptions>;

function headersOf(apiKey: Options['apiKey'], metadata: Options['metadata']): Record<string, string> {
  const named = Object.entries(metadata ?? {}).map(([name, value]) => [name.toLowerCase(), String(value)]);
  return {
    ...Object.fromEntries(named),
    ...(typeof apiKey === 'string' ? { authorization: `Bearer ${apiKey}` } : {}),
  };
}

function tlsOptions(tls: NonNullable<Options['tls']>): SecureClientSessionOptions {
  if (typeof tls === 'boolean') return {};
  const { serverNameOverride, serverRootCACertificate, clientCertPair } = tls;
  return {
    ...(serverNameOverride ? { servername: serverNameOverride } : {}),
    ...(serverRootCACertificate ? { ca: Buffer.from(serverRootCACertificate) } : {}),
    ...(clientCertPair
      ? { cert: Buffer.from(clientCertPair.crt), key: Buffer.from(clientCertPair.key) }
      : {}),
  };
}

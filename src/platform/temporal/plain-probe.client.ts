// Asks Temporal whether it knows the namespace, by one gRPC call over HTTP/2 in plain text. The SDK takes ten times the
// CPU to load, which a command that asks once would spend each time.
import { type ClientHttp2Session, connect, constants } from 'node:http2';
import type { Config } from '../config.ts';

const METHOD = '/temporal.api.workflowservice.v1.WorkflowService/DescribeNamespace';

/** Milliseconds; as `probeTemporal`. */
const PATIENCE = 1_000;

/** Settings that need no more than an address: others mean TLS, an API key, metadata or a file of settings. */
const PLAIN = new Set([
  'TEMPORAL_ADDRESS',
  'TEMPORAL_NAMESPACE',
  'TEMPORAL_PORT',
  'TEMPORAL_UI_PORT',
  'TEMPORAL_UI_URL',
]);

type TemporalSettings = Pick<Config['temporal'], 'address' | 'port' | 'variables' | 'namespace'>;

/** Returns whether `probePlainly` can reach this Temporal. */
export function isPlain({ variables }: Pick<TemporalSettings, 'variables'>): boolean {
  return Object.keys(variables).every((name) => PLAIN.has(name));
}

/** Checks within a second whether Temporal answers, and knows the namespace. */
export async function probePlainly({ address, port, namespace }: TemporalSettings): Promise<boolean> {
  let session: ClientHttp2Session | undefined;
  try {
    session = connect(`http://${address ?? `127.0.0.1:${port}`}`);
    return (await statusOf(session, namespace)) === '0';
  } catch {
    return false;
  } finally {
    session?.destroy();
  }
}

/** @returns the status of gRPC; undefined when there is no answer */
function statusOf(session: ClientHttp2Session, namespace: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const patience = setTimeout(resolve, PATIENCE, undefined);
    const end = (status: unknown) => {
      clearTimeout(patience);
      resolve(typeof status === 'string' ? status : undefined);
    };
    session.on('error', () => end(undefined));
    const call = session.request({
      [constants.HTTP2_HEADER_METHOD]: 'POST',
      [constants.HTTP2_HEADER_PATH]: METHOD,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    call.on('error', () => end(undefined));
    // A refusal has its status in the headers, as an answer without a body.
    call.on('response', (headers) => {
      if (headers['grpc-status'] !== undefined) end(headers['grpc-status']);
    });
    call.on('trailers', (trailers) => end(trailers['grpc-status']));
    call.on('close', () => end(undefined));
    call.resume();
    call.end(frame(namespace));
  });
}

/** The message of gRPC whose first field is the namespace. */
function frame(namespace: string): Buffer {
  const name = Buffer.from(namespace);
  if (name.length > 127) throw new RangeError('the length of a namespace is one byte here');
  const message = Buffer.concat([Buffer.of(0x0a, name.length), name]);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

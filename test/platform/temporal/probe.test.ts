// Whether Temporal answers: the call of a process that has no SDK.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import {
  createSecureServer,
  createServer,
  type Http2SecureServer,
  type Http2Server,
  type IncomingHttpHeaders,
} from 'node:http2';
import { createServer as createTcpServer } from 'node:net';
import { expect, inject, it, onTestFinished } from 'vitest';
import { loadConfig } from '../../../src/platform/config.ts';
import { askTemporal } from '../../../src/platform/temporal/probe.client.ts';

const settings = (variables: Record<string, string>) => loadConfig(variables, { role: 'migrate' }).temporal;

const certificate = (name: string) =>
  readFileSync(new URL(`../../webhooks/receiver/certificates/${name}`, import.meta.url));

/** Says of each call that it was well done. */
function answer(server: Http2Server | Http2SecureServer): IncomingHttpHeaders[] {
  const seen: IncomingHttpHeaders[] = [];
  server.on('stream', (stream, headers) => {
    seen.push(headers);
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end();
  });
  return seen;
}

async function listen(server: ReturnType<typeof createTcpServer> | Http2Server | Http2SecureServer) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return `127.0.0.1:${address.port}`;
}

it('Temporal is found by its namespace, and not by another one', async () => {
  const address = inject('temporalAddress');
  const there = { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: inject('temporalNamespace') };
  expect(await askTemporal(settings(there))).toBe(true);
  // A name of more than 127 bytes has a length of two.
  for (const name of ['absent', 'a'.repeat(200)])
    expect(await askTemporal(settings({ ...there, TEMPORAL_NAMESPACE: name }))).toBe(false);
});

it('nobody, one who is silent and one who speaks HTTP alone are not Temporal', async () => {
  expect(await askTemporal(settings({ TEMPORAL_ADDRESS: '127.0.0.1:1' }))).toBe(false);
  const silent = await listen(createTcpServer((socket) => void onTestFinished(() => void socket.destroy())));
  expect(await askTemporal(settings({ TEMPORAL_ADDRESS: silent }))).toBe(false);
  const web = await listen(createServer((_, response) => response.end('hello')));
  expect(await askTemporal(settings({ TEMPORAL_ADDRESS: web }))).toBe(false);
});

it('the call has the metadata of the settings, and TLS where there is a key', async () => {
  const server = createServer();
  const seen = answer(server);
  const address = await listen(server);
  const there = { TEMPORAL_ADDRESS: address, TEMPORAL_GRPC_META_TEAM: 'blue' };
  expect(await askTemporal(settings(there))).toBe(true);
  expect(seen).toMatchObject([{ team: 'blue', te: 'trailers', 'content-type': 'application/grpc' }]);
  // The server speaks no TLS, so nobody answers; above all, the key is not sent in the clear.
  expect(await askTemporal(settings({ ...there, TEMPORAL_API_KEY: 'secret' }))).toBe(false);
  expect(seen).toHaveLength(1);
});

it('a server with TLS is asked for its certificate, and shown that of the settings', async () => {
  const key = certificate('receiver-key.pem');
  const [cert, ca, client] = ['receiver.pem', 'authority.pem', 'self-signed.pem'].map((name) =>
    certificate(name),
  );
  const server = createSecureServer({ key, cert, ca: client, requestCert: true, rejectUnauthorized: true });
  const seen = answer(server);
  const address = await listen(server);
  const there = {
    TEMPORAL_ADDRESS: address,
    TEMPORAL_API_KEY: 'secret',
    TEMPORAL_TLS_SERVER_CA_CERT_DATA: String(ca),
    TEMPORAL_TLS_CLIENT_CERT_DATA: String(client),
    TEMPORAL_TLS_CLIENT_KEY_DATA: String(key),
  };
  expect(await askTemporal(settings({ ...there, TEMPORAL_TLS_SERVER_NAME: 'receiver.test' }))).toBe(true);
  expect(seen).toMatchObject([{ authorization: 'Bearer secret', 'temporal-namespace': 'countersign' }]);
  // Neither a server of another name, nor of an unknown authority, nor one that knows no such client.
  expect(await askTemporal(settings({ ...there, TEMPORAL_TLS_SERVER_NAME: 'other.test' }))).toBe(false);
  const unknown = { TEMPORAL_TLS_SERVER_CA_CERT_DATA: String(certificate('self-signed.pem')) };
  expect(await askTemporal(settings({ ...there, ...unknown }))).toBe(false);
  const { TEMPORAL_TLS_CLIENT_CERT_DATA: _, TEMPORAL_TLS_CLIENT_KEY_DATA: __, ...nameless } = there;
  expect(await askTemporal(settings(nameless))).toBe(false);
  expect(seen).toHaveLength(1);
});

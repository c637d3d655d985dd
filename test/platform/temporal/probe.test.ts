// Whether Temporal answers: the call of a process that has no SDK.
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http2';
import { createServer as createTcpServer } from 'node:net';
import { expect, inject, it, onTestFinished } from 'vitest';
import { loadConfig } from '../../../src/platform/config.ts';
import { askTemporal } from '../../../src/platform/temporal/probe.client.ts';

const settings = (variables: Record<string, string>) => loadConfig(variables, { role: 'migrate' }).temporal;

async function listen(server: ReturnType<typeof createTcpServer> | ReturnType<typeof createServer>) {
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
  const seen: IncomingHttpHeaders[] = [];
  const server = createServer();
  server.on('stream', (stream, headers) => {
    seen.push(headers);
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end();
  });
  const address = await listen(server);
  const there = { TEMPORAL_ADDRESS: address, TEMPORAL_GRPC_META_TEAM: 'blue' };
  expect(await askTemporal(settings(there))).toBe(true);
  expect(seen).toMatchObject([{ team: 'blue', te: 'trailers', 'content-type': 'application/grpc' }]);
  // The server speaks no TLS, so nobody answers; above all, the key is not sent in the clear.
  expect(await askTemporal(settings({ ...there, TEMPORAL_API_KEY: 'secret' }))).toBe(false);
  expect(seen).toHaveLength(1);
});

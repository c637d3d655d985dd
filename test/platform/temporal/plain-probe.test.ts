// The probe of `countersign status`, which asks Temporal without the SDK.
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, inject, it } from 'vitest';
import { isPlain, probePlainly } from '../../../src/platform/temporal/plain-probe.client.ts';

const probe = (settings: { address?: string; namespace?: string }) =>
  probePlainly({
    address: inject('temporalAddress'),
    namespace: inject('temporalNamespace'),
    port: 1,
    variables: {},
    ...settings,
  });

describe('a plain probe of Temporal', () => {
  it('succeeds where Temporal knows the namespace', async () => {
    expect(await probe({})).toBe(true);
  });

  it('fails for another namespace, and where nothing listens', async () => {
    expect(await probe({ namespace: 'nobodys' })).toBe(false);
    expect(await probe({ namespace: 'n'.repeat(200) })).toBe(false);
    expect(await probe({ address: '127.0.0.1:1' })).toBe(false);
  });

  it('ends although a server says nothing, or hangs up', async () => {
    for (const onConnection of ['resume', 'destroy'] as const) {
      const server = createServer((socket) => void socket.on('error', () => undefined)[onConnection]());
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      expect(await probe({ address: `127.0.0.1:${(server.address() as AddressInfo).port}` })).toBe(false);
      server.close();
    }
  });

  it('is not for settings of TLS, keys, metadata or files', () => {
    expect(isPlain({ variables: { TEMPORAL_ADDRESS: 'temporal:7233', TEMPORAL_NAMESPACE: 'x' } })).toBe(true);
    for (const name of ['TEMPORAL_TLS', 'TEMPORAL_API_KEY', 'TEMPORAL_GRPC_META_X', 'TEMPORAL_CONFIG_FILE'])
      expect(isPlain({ variables: { [name]: 'x' } })).toBe(false);
  });
});

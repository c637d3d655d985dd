// What a connection to Temporal asks of the network beside Temporal.
import { promises as dns } from 'node:dns';
import { expect, it, vi } from 'vitest';
import { createLazyConnection } from '../../../src/platform/temporal/client.ts';

it('asks DNS for addresses only: where no way leads out, a search for texts holds the process for 20 s', async () => {
  const texts = vi.spyOn(dns, 'resolveTxt').mockResolvedValue([]);
  const addresses = vi.spyOn(dns, 'lookup');
  const connection = createLazyConnection({ address: 'localhost:9', port: 7233, variables: {} });
  await expect(connection.ensureConnected()).rejects.toThrow();
  await connection.close();
  expect(addresses).toHaveBeenCalledWith('localhost', expect.anything());
  expect(texts).not.toHaveBeenCalled();
});

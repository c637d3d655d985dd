import { type AddressInfo, createServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { findFreePort, requirePort, tryPort } from '../../../src/app/local/ports.ts';

async function occupy(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

it('a busy port is one line that names the port and the variable', async () => {
  const port = await occupy();
  await expect(
    requirePort({ host: '127.0.0.1', port, variable: 'TEMPORAL_PORT', part: 'Temporal' }),
  ).rejects.toThrow(
    `Port ${port} is in use, and Temporal needs it: stop the other program, or set TEMPORAL_PORT to a free port.`,
  );
});

it('an address that is not ours is one line that names the variable', async () => {
  await expect(
    requirePort({ host: '192.0.2.1', port: 8080, variable: 'PORT', part: 'The API' }),
  ).rejects.toThrow(/^The API cannot listen on 192\.0\.2\.1:8080 \(EADDRNOTAVAIL\): .*PORT/);
});

it('the port of the last run is kept while it is free', async () => {
  const free = await findFreePort();
  expect(await findFreePort(free)).toBe(free);
  const busy = await occupy();
  expect(await findFreePort(busy)).not.toBe(busy);
  await expect(tryPort('127.0.0.1', busy)).rejects.toMatchObject({ code: 'EADDRINUSE' });
});

// The health checks of docker-compose.yml, as a shell runs them.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { parse } from 'yaml';

const { services } = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as {
  services: Record<string, { healthcheck: { test: string[] } }>;
};

/** The script as a shell gets it, for another port. */
const scriptFor = (role: string, port: number): string =>
  (services[role]?.healthcheck.test[3] ?? '')
    .replaceAll('$$', '$')
    .replace(/(127\.0\.0\.1\/)\d+/, `$1${port}`);

it.each(
  ['api', 'worker'].flatMap(
    (role) =>
      [
        [role, 200, 0],
        [role, 503, 1],
        [role, undefined, 1],
      ] as const,
  ),
)(
  'calls a process of the role %s whose /readyz answers %s healthy by the code %d',
  async (role, status, code) => {
    const asked: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      asked.push(request.url);
      response.writeHead(status ?? 200).end();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    if (status === undefined) await new Promise((resolve) => server.close(resolve));
    const [ended] = await once(spawn('bash', ['-c', scriptFor(role, port)], { stdio: 'ignore' }), 'close');
    server.close();
    expect(ended).toBe(code);
    expect(asked).toEqual(status === undefined ? [] : ['/readyz']);
  },
);

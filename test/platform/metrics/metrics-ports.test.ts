// Which process of one machine tells its metrics where.
import { describe, expect, it } from 'vitest';
import { metricsPorts } from '../../../src/app/local/metrics-ports.ts';
import { loadConfig } from '../../../src/platform/config.ts';

describe('the ports of metrics', () => {
  it('are the workers’, then the apis’, each its own', () => {
    const ports = metricsPorts({ metricsPort: 9464, workerProcesses: 2, apiProcesses: 2 });
    expect(ports).toEqual([
      { role: 'worker', index: 0, port: 9464 },
      { role: 'worker', index: 1, port: 9465 },
      { role: 'api', index: 0, port: 9466 },
      { role: 'api', index: 1, port: 9467 },
    ]);
  });

  it('are none at all with METRICS_PORT=0', () => {
    const ports = metricsPorts({ metricsPort: 0, workerProcesses: 1, apiProcesses: 1 });
    expect(ports.map(({ port }) => port)).toEqual([0, 0]);
  });

  it('differ for a worker and an api that are started alone, and are on loopback unless said', () => {
    const env = { DATABASE_URL: 'postgres://x', MASTER_KEY: Buffer.alloc(32).toString('base64') };
    const worker = loadConfig(env, { role: 'worker' });
    const api = loadConfig(env, { role: 'api' });
    expect([worker.metricsPort, api.metricsPort]).toEqual([9464, 9465]);
    expect([worker.metricsHost, api.metricsHost]).toEqual(['127.0.0.1', '127.0.0.1']);
    const set = loadConfig({ ...env, METRICS_HOST: '0.0.0.0', METRICS_PORT: '7000' }, { role: 'api' });
    expect([set.metricsHost, set.metricsPort]).toEqual(['0.0.0.0', 7000]);
  });
});

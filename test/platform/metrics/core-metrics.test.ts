// The metrics of Temporal's SDK beside ours, whatever becomes of the port that they are on.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Gauge, Registry } from 'prom-client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createMergedMetrics, installWithMetrics } from '../../../src/platform/temporal/core-metrics.ts';
import { parseExposition } from './prometheus-text.ts';

async function serve(answer: Parameters<typeof createServer>[1]): Promise<string> {
  const server: Server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`;
}

function createOurs(address: string) {
  const registry = new Registry();
  new Gauge({ name: 'ours', help: 'Ours.', registers: [registry] }).set(1);
  const metrics = createMergedMetrics({ registry, address });
  return async () => parseExposition(await metrics());
}

const firstOf = (families: Awaited<ReturnType<ReturnType<typeof createOurs>>>, name: string) =>
  families.get(name)?.samples[0]?.value;

describe('the merged metrics', () => {
  it('are both, and say that both were there', async () => {
    const theirs = '# HELP temporal_x X.\n# TYPE temporal_x gauge\ntemporal_x 5\n';
    const families = await createOurs(await serve((_, response) => response.end(theirs)))();
    expect(
      ['ours', 'temporal_x', 'countersign_temporal_metrics_up'].map((name) => firstOf(families, name)),
    ).toEqual([1, 5, 1]);
  });

  it.each([
    ['nobody listens', async () => 'http://127.0.0.1:1/metrics'],
    ['nobody answers', () => serve(() => undefined)],
    ['there is an error', () => serve((_, response) => response.writeHead(500).end('temporal_x 5'))],
  ])('are ours alone where %s, and say so', async (_what, place) => {
    const families = await createOurs(await place())();
    expect(firstOf(families, 'ours')).toBe(1);
    expect(firstOf(families, 'countersign_temporal_metrics_up')).toBe(0);
    expect(families.has('temporal_x')).toBe(false);
  });
});

describe('the port of the core', () => {
  const ports = () => {
    let port = 20_000;
    return async () => (port += 1);
  };

  it('is another one where the first is taken', async () => {
    const tried: unknown[] = [];
    const address = await installWithMetrics({
      findPort: ports(),
      install: (metrics) => {
        tried.push('prometheus' in metrics ? metrics.prometheus.bindAddress : undefined);
        if (tried.length < 3) throw new Error('Address already in use');
      },
    });
    expect(tried).toEqual(['127.0.0.1:20001', '127.0.0.1:20002', '127.0.0.1:20003']);
    expect(address).toBe('http://127.0.0.1:20003/metrics');
  });

  it('is given up when none can be had', async () => {
    const install = () => {
      throw new Error('no socket');
    };
    await expect(installWithMetrics({ findPort: ports(), install })).rejects.toThrow('no socket');
  });
});

// Every metric that the processes can tell, with its type and labels: ours from the very wiring that they use, those of
// Temporal's SDK from its sources, since most of them show only once something has happened.
import { readFileSync } from 'node:fs';
import pino from 'pino';
import type { Registry } from 'prom-client';
import { measureProcess } from '../../../src/app/operations-port.ts';
import { wireApi } from '../../../src/app/wiring/api.ts';
import { measureStanding, wireWorkerRooms } from '../../../src/app/wiring/worker.ts';
import { loadConfig } from '../../../src/platform/config.ts';
import { openPlatform, type Platform } from '../../../src/platform/opening/platform.ts';
import { createMergedMetrics } from '../../../src/platform/temporal/core-metrics.ts';
import { createWorkflowMetrics } from '../../../src/platform/temporal/workflow.metrics.ts';

export type Metric = { readonly type: string; readonly labels: readonly string[] };

const config = loadConfig(
  { DATABASE_URL: 'postgres://localhost:1/none', MASTER_KEY: Buffer.alloc(32, 1).toString('base64') },
  { role: 'api' },
);
const logger = pino({ level: 'silent' });

/** What an api, a worker, and the SDK in a worker can tell. Nothing is connected to anything. */
export async function listMetrics(): Promise<Record<'api' | 'worker' | 'sdk', Map<string, Metric>>> {
  const api = wire('api', (platform) => wireApi(platform).close);
  const worker = wire('worker', (platform) => {
    const rooms = wireWorkerRooms(platform);
    createWorkflowMetrics(platform);
    measureStanding(platform);
    createMergedMetrics({ registry: platform.registry, address: 'http://127.0.0.1:1' });
    return rooms.close;
  });
  return { api: await api, worker: await worker, sdk: listSdkMetrics() };
}

async function wire(role: string, wireRole: (platform: Platform) => () => Promise<unknown>) {
  const platform = openPlatform(config, { logger, name: role });
  const close = wireRole(platform);
  measureProcess(platform, { role, readiness: async () => ({ ready: true }) });
  const metrics = listRegistry(platform.registry);
  await close();
  await platform.close();
  return metrics;
}

function listRegistry(registry: Registry): Map<string, Metric> {
  return new Map(
    registry.getMetricsAsArray().map((metric) => {
      const {
        name,
        type,
        labelNames = [],
      } = metric as unknown as {
        name: string;
        type: string;
        labelNames?: string[];
      };
      return [name, { type, labels: labelNames }];
    }),
  );
}

const SDK = 'node_modules/@temporalio/core-bridge/sdk-core/crates';
const SUFFIXES: Readonly<Record<string, string>> = { counter: '_total', histogram: '_seconds', gauge: '' };

function listSdkMetrics(): Map<string, Metric> {
  const sources = [
    'sdk-core/src/telemetry/metrics.rs',
    'client/src/metrics.rs',
    'common/src/telemetry/metrics.rs',
  ].map((file) => readFileSync(`${SDK}/${file}`, 'utf8'));
  const text = sources.join('\n');
  const constants = new Map(
    [...text.matchAll(/(?:const|static) (\w+): &str =\s*"(\w+)"/g)].map(([, name, value]) => [
      name,
      value ?? '',
    ]),
  );
  const labels = [...text.matchAll(/KEY_?\w*: &str =\s*"(\w+)"|MetricKeyValue::new\(\s*"(\w+)"/g)].map(
    ([, constant, literal]) => constant ?? literal ?? '',
  );
  const made = text.matchAll(
    /(counter|histogram|gauge)\w*\(MetricParameters \{\s*name: (?:"(\w+)"|(\w+))\.into\(\)/g,
  );
  return new Map(
    [...made].map(([, type = '', literal, constant]) => [
      `temporal_${literal ?? constants.get(constant)}${SUFFIXES[type]}`,
      { type, labels },
    ]),
  );
}

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { ROLE_ENDS } from '../../../src/app/local/role-part.ts';
import { WORKER_SHUTDOWN } from '../../../src/platform/temporal/worker.ts';
import { DEFAULT_TIMEOUT_MS } from '../../../src/webhooks/deliveries/delivery.client.ts';

const compose = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as {
  services: Record<string, { stop_grace_period?: string }>;
};
/** Milliseconds. */
const periodOf = (service: string) =>
  Number(/^(\d+)s$/.exec(compose.services[service]?.stop_grace_period ?? '')?.[1]) * 1_000;

/** Milliseconds that closing connections takes at most, after everything else has ended. */
const CLOSING = 5_000;

it('a worker that stops lets every send end, and its supervisor waits for that', () => {
  const { shutdownGraceTime, shutdownForceTime } = WORKER_SHUTDOWN;
  const times = [DEFAULT_TIMEOUT_MS, shutdownGraceTime, shutdownForceTime + CLOSING];
  const waits = [...times, ROLE_ENDS.worker.grace, periodOf('worker')];
  expect(waits).toEqual([...waits].sort((a, b) => a - b));
  expect(new Set(waits).size).toBe(waits.length);
  expect(shutdownForceTime).toBeGreaterThan(shutdownGraceTime);
});

it('an API that stops gets no longer from the supervisor than from a container', () => {
  expect(periodOf('api')).toBeGreaterThan(ROLE_ENDS.api.grace);
});

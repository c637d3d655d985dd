// Hostile receivers against the whole engine. Each costs one attempt, which says whose fault it was; nothing else is
// touched: not the other endpoints, not the sockets, not the memory.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MAX_RESPONSE_HEADER_BYTES } from '../../../src/platform/egress/guarded-agent.client.ts';
import { MAX_RESPONSE_BYTES } from '../../../src/webhooks/deliveries/delivery.client.ts';
import { createDeliveryRoutes } from '../../../src/webhooks/deliveries/delivery.routes.ts';
import { watchClientSockets } from '../../platform/egress/client-sockets.ts';
import { startTestServer, type TestServer, tokenFor } from '../../platform/http/test-server.ts';
import { createEngine, type DeliveryEngine, eventually } from '../../workflows/delivery-engine.ts';
import {
  AUTHORITY_FILE,
  type LocalReceiver,
  startRawReceiver,
  startReceiver,
  startSecureReceiver,
} from '../receiver/local-receiver.ts';
import { type HostileAnswer, hostileAnswers, type Recorded } from './hostile-answers.ts';

const HOUR = 3_600_000;
/** An attempt's time here: 15 s otherwise. */
const SEND_TIMEOUT = 6_000;
/** What a socket may have read beyond the 64 KiB of a body: the head, and what comes in one piece. */
const MOST_READ = MAX_RESPONSE_BYTES + MAX_RESPONSE_HEADER_BYTES + 2 * 64 * 1024;

type Case = { name: string; url: string; recorded: Recorded; receiver?: LocalReceiver };
type Attempt = {
  status_code: number | null;
  error: string | null;
  response_excerpt: string | null;
  retry_after_seconds: number | null;
  duration_ms: number;
  phases: Record<string, number | null>;
};
type Details = { status: string; attempt_count: number; last_error: string | null; attempts: Attempt[] };

async function startHostile({ answer, atOnce = false }: HostileAnswer): Promise<LocalReceiver> {
  return startRawReceiver((socket) => {
    if (atOnce) answer(socket);
    else socket.once('data', () => answer(socket));
  });
}

async function startTlsCases(): Promise<Case[]> {
  const accept: Parameters<typeof startSecureReceiver>[0] = (_request, response) => response.end('ok');
  const at = (receiver: LocalReceiver, host = 'receiver.test') => ({
    receiver,
    url: `https://${host}:${receiver.port}/`,
  });
  const fault = (error: string | RegExp): Recorded => ({ status: null, error });
  const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
  return [
    {
      name: 'an expired certificate',
      ...at(await startSecureReceiver(accept, 'expired.pem')),
      recorded: fault('tls:CERT_HAS_EXPIRED'),
    },
    {
      name: 'a certificate of another name',
      ...at(await startSecureReceiver(accept), 'other.test'),
      recorded: fault('tls:ERR_TLS_CERT_ALTNAME_INVALID'),
    },
    {
      name: 'a self-signed certificate',
      ...at(await startSecureReceiver(accept, 'self-signed.pem')),
      recorded: fault('tls:DEPTH_ZERO_SELF_SIGNED_CERT'),
    },
    {
      name: 'TLS 1.1',
      ...at(await startSecureReceiver(accept, 'receiver.pem', old)),
      recorded: fault(/^tls:/),
    },
    { name: 'plain HTTP instead of TLS', ...at(await startReceiver(accept)), recorded: fault(/^tls:/) },
    {
      name: 'silence instead of TLS',
      ...at(await startRawReceiver((socket) => void socket.resume())),
      recorded: fault('timeout:tls'),
    },
    {
      name: 'a reset instead of TLS',
      ...at(await startRawReceiver((socket) => socket.once('data', () => socket.resetAndDestroy()))),
      recorded: fault(/^tls:/),
    },
  ];
}

async function startNameCases(): Promise<Case[]> {
  const gone = await startReceiver(() => undefined);
  await gone.close();
  return [
    {
      name: 'no such name',
      url: 'https://nowhere.test/',
      recorded: { status: null, error: 'dns:ENOTFOUND' },
    },
    {
      name: 'a name server that is silent',
      url: 'https://silent.test/',
      recorded: { status: null, error: 'timeout:dns' },
    },
    {
      name: 'a name that leads inside',
      url: 'https://inside.test/',
      recorded: { status: null, error: 'blocked_address:link_local' },
    },
    {
      name: 'a closed port',
      url: `http://127.0.0.1:${gone.port}/`,
      recorded: { status: null, error: 'connect:ECONNREFUSED' },
    },
  ];
}

async function lookup(name: string): Promise<string[]> {
  if (name === 'silent.test') return new Promise(() => undefined);
  if (name === 'inside.test') return ['8.8.8.8', '169.254.169.254'];
  if (name === 'nowhere.test') throw Object.assign(new Error('no'), { code: 'ENOTFOUND' });
  return [name.endsWith('.test') ? '127.0.0.1' : name];
}

describe('a hostile receiver', () => {
  let engine: DeliveryEngine;
  let api: TestServer;
  let inside: LocalReceiver;
  let sockets: ReturnType<typeof watchClientSockets>;
  const cases: Case[] = [];
  const deliveries = new Map<string, string>();
  const healthy: string[] = [];

  const detailsOf = async (id: string): Promise<Details> => {
    const authorization = `Bearer ${tokenFor('app', 'webhooks:read')}`;
    return (await api.send('GET', `/api/v1/deliveries/${id}`, undefined, { authorization })).body;
  };

  beforeAll(async () => {
    engine = await createEngine({
      egress: { caFile: AUTHORITY_FILE, lookup },
      sendTimeoutMs: SEND_TIMEOUT,
    });
    const workflows = { uiUrl: 'http://localhost:8233', namespace: 'countersign' };
    api = await startTestServer(createDeliveryRoutes({ deliveries: engine.deliveries, workflows }), {
      database: engine.database,
      tenants: { bySlug: async () => engine.context.tenant },
    });
    inside = await startReceiver((_request, response) => response.end('a secret of the inside'));
    // Only now: a receiver of another file may have had the port of `inside`.
    sockets = watchClientSockets();
    for (const hostile of hostileAnswers(`http://127.0.0.1:${inside.port}/secret`)) {
      const receiver = await startHostile(hostile);
      const url = `http://127.0.0.1:${receiver.port}/hook`;
      cases.push({ name: hostile.name, recorded: hostile.recorded, receiver, url });
    }
    cases.push(...(await startTlsCases()), ...(await startNameCases()));
    await engine.startProcess();
    const good = await engine.subscribe();
    for (const { name, url } of cases) {
      const { id } = await engine.subscribe({ url, delaysMs: [HOUR] });
      const [delivery = ''] = await engine.publish(id);
      deliveries.set(name, delivery);
      healthy.push(...(await engine.publish(good.id)));
    }
    await eventually(async () => {
      const { rows } = await engine.database.query<{ left: number }>(
        `SELECT count(*)::int AS left FROM deliveries WHERE id = ANY($1::uuid[]) AND attempt_count = 0`,
        [[...deliveries.values(), ...healthy]],
      );
      return rows[0]?.left === 0;
    }, 'an attempt of each');
    await engine.quiet();
  });

  afterAll(async () => {
    sockets?.stop();
    await engine.close();
    await api.drain();
    await inside.close();
    for (const { receiver } of cases) await receiver?.close();
  });

  it('costs one attempt, which says whose fault it was', async () => {
    expect(cases.length).toBeGreaterThan(70);
    const seen = [];
    for (const { name, recorded, receiver } of cases) {
      const {
        status,
        attempt_count: count,
        last_error: lastError,
        attempts,
      } = await detailsOf(deliveries.get(name) ?? '');
      const [attempt] = attempts;
      const delivered = recorded.error === null;
      seen.push(name);
      expect({ name, count, rows: attempts.length, status }).toEqual({
        name,
        count: 1,
        rows: 1,
        status: delivered ? 'delivered' : 'retrying',
      });
      expect({ name, status: attempt?.status_code, error: attempt?.error, last: lastError }).toEqual({
        name,
        status: recorded.status,
        error: delivered ? null : expect.stringMatching(patternOf(recorded.error)),
        last: attempt?.error,
      });
      if (recorded.excerpt !== undefined) {
        const excerpt = recorded.excerpt === null ? null : expect.stringMatching(patternOf(recorded.excerpt));
        expect({ name, excerpt: attempt?.response_excerpt }).toEqual({ name, excerpt });
      }
      if (recorded.retryAfter !== undefined) {
        expect({ name, after: attempt?.retry_after_seconds }).toEqual({ name, after: recorded.retryAfter });
      }
      expect([name, receiver?.connections() ?? 0]).toEqual([name, receiver === undefined ? 0 : 1]);
    }
    expect(new Set(seen).size).toBe(cases.length);
  });

  it('lasts as long as its phases together, at least', async () => {
    for (const { name } of cases) {
      const [attempt] = (await detailsOf(deliveries.get(name) ?? '')).attempts;
      const { total_ms: total, ...phases } = attempt?.phases ?? {};
      const sum = Object.values(phases).reduce<number>((before, phase) => before + (phase ?? 0), 0);
      expect([name, total]).toEqual([name, expect.any(Number)]);
      expect((total ?? 0) + 1, name).toBeGreaterThanOrEqual(sum);
    }
  });

  it('keeps nobody else from being delivered to', async () => {
    expect(healthy).toHaveLength(cases.length);
    for (const delivery of healthy) {
      expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered', attempt_count: 1 });
    }
    expect(engine.failures).toEqual([]);
  });

  it('leads nowhere: no redirect is followed', () => {
    expect(inside.connections()).toBe(0);
    expect(sockets.to(inside.port)).toEqual([]);
  });

  it('is read to its limits, and no socket stays open', async () => {
    for (const { name, receiver, recorded } of cases) {
      if (receiver === undefined) continue;
      if (recorded.status !== null) expect(sockets.mostReadFrom(receiver.port), name).toBeGreaterThan(0);
      expect(sockets.mostReadFrom(receiver.port), name).toBeLessThanOrEqual(MOST_READ);
      await eventually(() => sockets.openTo(receiver.port) === 0, `the sockets of ${name} to be closed`);
    }
  });
});

const patternOf = (expected: string | RegExp | null): RegExp =>
  expected instanceof RegExp
    ? expected
    : new RegExp(`^${(expected ?? '').replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`);

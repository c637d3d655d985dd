// Whatever happens to an endpoint, in whatever order: no delivery is left behind once its endpoint works and nobody
// keeps it closed.
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ServiceError } from '../../../src/platform/errors/service-error.ts';
import type { HoldLength } from '../../../src/webhooks/endpoints/host-hold.ts';
import { eventually } from '../../workflows/delivery-engine.ts';
import { createEndpointEngine, type EndpointEngine } from '../../workflows/endpoint-engine.ts';

const RECOVERY = { failures: 3, deliveries: 2, failingMs: 0, probeDelaysMs: [150, 250] } as const;

const STEPS = [
  'publish',
  'publishMany',
  'fail',
  'work',
  'hold',
  'holdByOperator',
  'release',
  'probeNow',
  'deactivate',
  'activate',
  'retryNow',
  'cancel',
  'changeUrl',
  'suspendTenant',
  'resumeTenant',
  'holdHost',
  'holdHostBriefly',
  'releaseHost',
  'pause',
] as const;
type Step = (typeof STEPS)[number];

describe('changes of an endpoint under load', () => {
  let engine: EndpointEngine;
  beforeAll(async () => {
    engine = await createEndpointEngine({ recovery: RECOVERY });
    await Promise.all([engine.startProcess(), engine.startProcess({ worker: false })]);
    engine.startRunner();
  });
  afterAll(() => engine?.close());

  const setTenantHeld = (held: boolean) =>
    engine.database.transaction({}, (unit) =>
      engine.endpoints.setTenantHeld(unit, engine.context.tenant.id, held),
    );

  const holdHost = (length: HoldLength) =>
    engine.database.transaction({}, (unit) =>
      engine.hostHolds.hold(unit, engine.receiver.host, { length, reason: 'test', operator: 'jo' }),
    );
  const releaseHost = () =>
    engine.database.transaction({}, (unit) => engine.hostHolds.release(unit, engine.receiver.host));

  const run = async (steps: readonly Step[]): Promise<void> => {
    const { id, path } = await engine.subscribe({ delaysMs: [50, 100, 200, 400, 800, 800, 800, 800] });
    const name = { tenantId: engine.context.tenant.id, subscriptionId: id };
    const ids: string[] = [];
    let answer = { status: 204, headers: {} };
    engine.receiver.answer(path, () => answer);
    const any = (n: number) => ids[(n * 7) % Math.max(1, ids.length)];
    // An operator may be too late, and a delivery may have ended: both are said, and nothing happens.
    const orRefused = (action: Promise<unknown> | undefined) =>
      action?.catch((error: unknown) => {
        if (!(error instanceof ServiceError) || !['conflict', 'not_found'].includes(error.code)) throw error;
      });
    const perform: Record<Step, (n: number) => Promise<unknown> | undefined> = {
      publish: async () => ids.push(...(await engine.publish(id))),
      publishMany: async () => ids.push(...(await engine.publish(id, 6))),
      fail: async () => (answer = { status: 500, headers: {} }),
      work: async () => (answer = { status: 204, headers: {} }),
      hold: async () => (answer = { status: 503, headers: { 'retry-after': '1' } }),
      holdByOperator: () => orRefused(engine.recoveries.operate(name, { kind: 'hold', seconds: 1 })),
      release: () => orRefused(engine.recoveries.operate(name, { kind: 'release' })),
      probeNow: () => orRefused(engine.recoveries.operate(name, { kind: 'probe' })),
      deactivate: () => engine.subscriptions.update(engine.context, id, { active: false }),
      activate: () => engine.subscriptions.update(engine.context, id, { active: true }),
      retryNow: (n) =>
        orRefused(ids.length === 0 ? undefined : engine.deliveries.retry(engine.context, any(n) ?? '')),
      cancel: (n) =>
        orRefused(ids.length === 0 ? undefined : engine.deliveries.cancel(engine.context, any(n) ?? '')),
      changeUrl: (n) =>
        engine.subscriptions.update(engine.context, id, { url: `${engine.receiver.url}${path}?${n}` }),
      suspendTenant: () => setTenantHeld(true),
      resumeTenant: () => setTenantHeld(false),
      holdHost: () => holdHost('released'),
      holdHostBriefly: () => holdHost({ seconds: 1 }),
      releaseHost: () => releaseHost(),
      pause: () => sleep(120),
    };
    ids.push(...(await engine.publish(id, 4)));
    for (const [n, step] of steps.entries()) await perform[step](n);

    answer = { status: 204, headers: {} };
    await engine.subscriptions.update(engine.context, id, { active: true });
    await setTenantHeld(false);
    await releaseHost();
    await eventually(
      async () => {
        const { pending = 0, retrying = 0 } = await engine.counts(id);
        return pending + retrying === 0;
      },
      `all deliveries to end after ${steps.join(', ')}: ${JSON.stringify(await engine.endpoint(id))}`,
      100_000,
    );
    const { rows } = await engine.database.query<{ left: number }>(
      `SELECT count(*)::int AS left FROM outbox WHERE endpoint = $1 AND kind <> 'command'`,
      [id],
    );
    expect(await eventually(() => rows, 'rows')).toBeDefined();
    const counts = await engine.counts(id);
    expect(Object.keys(counts).every((status) => ['delivered', 'failed', 'canceled'].includes(status))).toBe(
      true,
    );
    // Where the last that waited was canceled, no success has told its actor that the endpoint works: the next delivery
    // does.
    if (steps.includes('cancel')) {
      const [last = ''] = await engine.publish(id);
      expect(await engine.ended(last)).toMatchObject({ status: 'delivered' });
    }
    await eventually(
      async () => !(await engine.endpoint(id)).watched,
      `its actor to let go after ${steps.join(', ')}: ${JSON.stringify(await engine.endpoint(id))}`,
    );
  };

  it.each<[string, Step[]]>([
    [
      'a hold that ends while it is deactivated',
      ['hold', 'publish', 'pause', 'deactivate', 'release', 'pause'],
    ],
    [
      'an outage in which everything is canceled',
      ['fail', 'publishMany', 'pause', 'cancel', 'cancel', 'pause'],
    ],
    [
      'a hold in the middle of a release',
      ['fail', 'publishMany', 'pause', 'release', 'hold', 'pause', 'work'],
    ],
    [
      'a probe that fails at a hold',
      ['fail', 'publishMany', 'pause', 'hold', 'probeNow', 'pause', 'release'],
    ],
    [
      'activation in an outage',
      ['fail', 'publishMany', 'pause', 'deactivate', 'publish', 'activate', 'pause'],
    ],
    [
      'a suspension of the tenant in the middle of a release',
      ['fail', 'publishMany', 'pause', 'work', 'release', 'suspendTenant', 'publish', 'retryNow', 'pause'],
    ],
    [
      'a held host whose hold runs out, with another URL and a retry by hand meanwhile',
      [
        'fail',
        'publishMany',
        'pause',
        'holdHostBriefly',
        'work',
        'changeUrl',
        'retryNow',
        'publish',
        'pause',
      ],
    ],
    [
      'a host that is held at a claim, released while it is inactive, and held again',
      ['publishMany', 'holdHost', 'deactivate', 'releaseHost', 'activate', 'holdHost', 'publish', 'cancel'],
    ],
    [
      'a retry by hand of all that wait',
      ['deactivate', 'publishMany', 'retryNow', 'activate', 'holdByOperator', 'retryNow'],
    ],
  ])('%s leaves nothing behind', (_, steps) => run(steps), 200_000);

  it('nothing is left behind after any of them in any order', async () => {
    const steps = fc.array(fc.constantFrom(...STEPS), { minLength: 4, maxLength: 14 });
    // Several side by side: each endpoint has neighbours in the same state.
    const several = fc.array(steps, { minLength: 6, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(several, async (runs) => {
        await Promise.all(runs.map(run));
      }),
      { numRuns: 4, endOnFailure: true },
    );
  });
});

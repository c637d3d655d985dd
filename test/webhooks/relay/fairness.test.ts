// Many subscriptions of one tenant and of several: one that answers quickly is not kept waiting by the others.
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RequestContext } from '../../../src/platform/context.ts';
import { createEngine, type DeliveryEngine, eventually } from '../../workflows/delivery-engine.ts';
import { createTenantContext } from '../intake/fixture.ts';

/** A URL at which nobody listens. */
async function nowhere(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return `http://127.0.0.1:${port}/`;
}

describe('subscriptions side by side', () => {
  let engine: DeliveryEngine;
  beforeEach(async () => {
    engine = await createEngine();
  });
  afterEach(() => engine.close());

  const several = async (count: number, tenant?: RequestContext, delayMs = 0) => {
    const subscriptions = await Promise.all(
      Array.from({ length: count }, () => engine.subscribe({ tenant })),
    );
    for (const { path } of subscriptions) engine.receiver.answer(path, () => ({ status: 200, delayMs }));
    return subscriptions;
  };
  const received = (subscriptions: readonly { path: string }[]) =>
    subscriptions.map(({ path }) => engine.receiver.of(path).length);

  it('lets the fast ones of a tenant go before its slow and its refusing ones', async () => {
    const slow = await several(4, undefined, 10_000);
    const fast = await several(4);
    const url = await nowhere();
    const refusing = [1, 2].map(() => engine.subscribe({ url, delaysMs: [3_600_000] }));
    for (const { id } of [...slow, ...(await Promise.all(refusing)), ...fast]) await engine.publish(id, 40);
    await engine.startProcess();

    await eventually(() => received(fast).every((count) => count >= 40), 'all of the fast ones', 80_000);
    const posts = received(slow);
    // Most of what the slow ones have is still to come, and each of them has had its turn.
    expect(Math.max(...posts)).toBeLessThan(30);
    expect(Math.min(...posts)).toBeGreaterThan(0);
  });

  it('keeps slots for a tenant that comes later, whatever the slow ones of others hold', async () => {
    const tenants = await Promise.all(Array.from({ length: 5 }, () => createTenantContext(engine.database)));
    const crowd = await Promise.all(tenants.map((tenant) => several(2, tenant, 8_000)));
    for (const [n, own] of crowd.entries()) {
      for (const { id } of own) await engine.publish(id, 60, tenants[n]);
    }
    await engine.startProcess();
    const sum = () => received(crowd.flat()).reduce((total, count) => total + count);
    await eventually(() => sum() >= 100, 'the slow ones at work');
    const [quiet] = await several(1);
    const ids = await engine.publish(quiet?.id ?? '', 20);
    for (const delivery of ids) await engine.ended(delivery);
    // All of the crowd's would take five rounds of the slow ones: the quiet one did not wait for them.
    expect(sum()).toBeLessThan(450);
  });
});

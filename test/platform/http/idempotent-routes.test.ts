// Idempotency keys on every route that takes them, with the work that it really does: once for a key, whatever is sent
// again.
import { afterAll, describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/database/ids.ts';
import { collectionsOf, fillBody, fillPath } from '../../isolation/rows.ts';
import { startTenants } from '../../isolation/tenants-server.ts';
import { loadAllRoutes } from './route-table.ts';

const TABLE = (await loadAllRoutes())
  .filter(({ idempotent, scope }) => idempotent === true && scope !== null)
  .map((route) => [`${route.method} ${route.path}`, route] as const);

const tenants = await startTenants();
afterAll(() => tenants.close());

describe.each(TABLE)('%s with an idempotency key', (_, route) => {
  const { method, secretFields = [] } = route;
  /** A request of its own: new rows in its path, new values in its body. */
  const prepare = async () => {
    const { owner } = tenants;
    const path = await fillPath(
      route,
      collectionsOf(route).map(() => owner),
      owner,
    );
    return { path, body: await fillBody(route, owner, path) };
  };

  it('is done once, answers a repetition as it did before, and refuses another request', async () => {
    const { owner } = tenants;
    const [one, other] = [await prepare(), await prepare()];
    const headers = { 'idempotency-key': newId() };
    const send = ({ path, body }: typeof one) => owner.send(method, path, body, owner.token, headers);
    const first = await send(one);
    expect([first.status, first.headers.get('idempotency-replayed')]).toEqual([
      expect.toSatisfy((status) => [200, 201, 202].includes(status)),
      null,
    ]);
    const changes = await owner.countChanges();

    const again = await send(one);
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([first.status, 'true']);
    expect(again.headers.get('location')).toBe(first.headers.get('location'));
    const shown = Object.entries(first.body).filter(([name]) => !secretFields.includes(name));
    expect(again.body).toEqual(Object.fromEntries(shown));

    const reused = await send(other);
    expect([reused.status, reused.body.error]).toEqual([422, 'idempotency_key_reused']);
    expect(await owner.countChanges()).toBe(changes);
  });

  it('keeps no refusal: the request may be sent again once it is right', async () => {
    const { owner } = tenants;
    const { path, body } = await prepare();
    const headers = { 'idempotency-key': newId() };
    const wrong = typeof body === 'object' ? { ...body, unknown: true } : { unknown: true };
    const refused = await owner.send(method, path, wrong, owner.token, headers);
    expect([refused.status, refused.body.errors[0].path]).toEqual([400, expect.stringContaining('unknown')]);
    expect((await owner.send(method, path, body, owner.token, headers)).status).toBeLessThan(300);
  });

  it('must be 1 to 255 visible characters', async () => {
    const { owner } = tenants;
    const { path, body } = await prepare();
    for (const key of ['x'.repeat(256), 'a b', '']) {
      const headers = { 'idempotency-key': key };
      const answer = await owner.send(method, path, body, owner.token, headers);
      expect([answer.status, answer.body.errors]).toEqual([
        400,
        [{ path: 'header.idempotency-key', message: expect.any(String) }],
      ]);
    }
    const headers = { 'idempotency-key': 'x'.repeat(255) };
    expect((await owner.send(method, path, body, owner.token, headers)).status).toBeLessThan(300);
  });
});

// No row of one tenant is reachable with another's token: every route of the real table is tried with a stranger's
// token, whatever it is called.
import { afterAll, describe, expect, it } from 'vitest';
import { loadAllRoutes } from '../platform/http/route-table.ts';
import { startTenants } from './tenants-server.ts';
import { tryRoute } from './walker.ts';

const TABLE = (await loadAllRoutes()).map(
  (route) => [`${route.method} ${route.path}`, route.operationId] as const,
);

const tenants = await startTenants();
afterAll(() => tenants.close());

describe('a stranger with every scope of his own tenant', () => {
  it.each(TABLE)('gets nothing of another by %s', async (_, operationId) => {
    const route = tenants.routes.find((one) => one.operationId === operationId);
    if (route === undefined) throw new Error(`${operationId} is not served`);
    expect(await tryRoute(route, tenants)).toEqual([]);
  });

  it('has tried every route that is served', () => {
    const tried = TABLE.map(([, operationId]) => operationId).sort();
    expect(tenants.routes.map(({ operationId }) => operationId).sort()).toEqual(tried);
    expect(tried.length).toBeGreaterThan(50);
  });
});

// The walker itself: routes that mix tenants up in each way that it finds, and routes that it does not know.
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Database } from '../../src/platform/database/database.ts';
import { defineRoute, type Method, type Route } from '../../src/platform/http/route.ts';
import { startTenants } from './tenants-server.ts';
import { tryRoute } from './walker.ts';

const anything = z.looseObject({});

/** A route of the test's own; `handler` answers 200 with what it gives. */
const route = (
  method: Method,
  path: string,
  operationId: string,
  handler: (input: { context: { tenant: { id: string } }; params: never; body: never }) => Promise<unknown>,
  more: Partial<Route> = {},
): Route => ({
  ...defineRoute({
    method,
    path,
    operationId,
    summary: 'For this test',
    tag: 'Test',
    scope: 'agents:read',
    request: {
      params: z.object(Object.fromEntries([...path.matchAll(/:(\w+)/g)].map(([, name]) => [name, z.uuid()]))),
    },
    responses: { 200: { description: 'Anything', schema: anything } },
    errors: ['not_found', 'invalid_request'],
    handler: async (input) => ({ status: 200, body: await handler(input as never) }),
  }),
  ...more,
});

/** Routes that forget the tenant, each in its own way. */
const broken = (database: Database): Record<string, Route> => ({
  read: route('GET', '/api/v1/agents/:id/test', 'brokenRead', async ({ params }) => {
    const { id } = params as { id: string };
    const { rows } = await database.query('SELECT id, name FROM agents WHERE id = $1', [id]);
    return { data: rows };
  }),
  list: route('GET', '/api/v1/test', 'brokenList', async () => {
    const { rows } = await database.query('SELECT id FROM agents');
    return { data: rows };
  }),
  write: route('POST', '/api/v1/agents/:id/touch', 'brokenWrite', async ({ params }) => {
    const { id } = params as { id: string };
    await database.query(
      `INSERT INTO audit_log (id, tenant_id, action, outcome, actor_kind) SELECT gen_random_uuid(), tenant_id, 'agent.touched', 'success', 'service' FROM agents WHERE id = $1`,
      [id],
    );
    return {};
  }),
  unknownRow: route('GET', '/test/gadgets/:gadget_id', 'brokenGadget', async () => ({})),
  unknownBody: route('POST', '/test/things', 'brokenBody', async () => ({}), {
    request: { body: z.strictObject({ agent_id: z.uuid() }) },
  }),
  unknownIssuerRoute: route('GET', '/test/open', 'brokenOpen', async () => ({}), { scope: null }),
  body: route('POST', '/api/v1/test', 'updateApplication', async ({ body }) => body, {
    request: { body: anything },
  }),
});

let routes: Record<string, Route>;
const tenants = await startTenants((database) => {
  routes = broken(database);
  // Tried under the name of a real route, so that its body is known, and served under another.
  return Object.values(routes).map((one) =>
    one === routes.body ? { ...one, operationId: 'brokenBodyIds' } : one,
  );
});
afterAll(() => tenants.close());

const tried = (name: string) => {
  const one = routes[name];
  if (one === undefined) throw new Error(`there is no route ${name}`);
  return tryRoute(one, tenants);
};

describe('the walk through the routes', () => {
  it('finds a read by id that forgets the tenant', async () => {
    const found = await tried('read');
    expect(found.join('\n')).toContain("found the owner's rows at /api/v1/agents/");
    expect(found.join('\n')).toContain('told ');
  });

  it('finds a list that forgets the tenant', async () => {
    expect((await tried('list')).join('\n')).toMatch(/^told /m);
  });

  it("finds a change of somebody else's rows", async () => {
    expect(await tried('write')).toContain("changed something of the owner's");
  });

  it("finds a body that may name somebody else's rows", async () => {
    expect((await tried('body')).join('\n')).toContain("took a body that names the owner's rows");
  });

  it('refuses to pass over what it does not know', async () => {
    await expect(tried('unknownRow')).rejects.toThrow('how to make a row of gadgets');
    await expect(tried('unknownBody')).rejects.toThrow('what to send to brokenBody is not known');
    await expect(tried('unknownIssuerRoute')).rejects.toThrow('what brokenOpen must refuse is not known');
  });
});

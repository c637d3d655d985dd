// What an answer says of a wrong field: what it must be, and which name was probably meant.
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { findNearest } from '../../../src/platform/errors/issue-words.ts';
import { defineRoute } from '../../../src/platform/http/route.ts';
import { startTestServer } from '../http/test-server.ts';

const routes = [
  defineRoute({
    summary: 'Echo',
    tag: 'Test',
    scope: null,
    responses: { 200: { description: 'ok', schema: z.object({}) } },
    errors: [],
    method: 'POST',
    path: '/api/v1/things/:id',
    operationId: 'createThing',
    request: {
      params: z.object({ id: z.string() }),
      query: z.strictObject({ cursor: z.string().optional(), event_type: z.string().optional() }),
      body: z.strictObject({
        name: z.string().min(1).max(5).optional(),
        event_types: z.array(z.string()).min(2).max(3).optional(),
        status: z.enum(['active', 'suspended']).optional(),
        owner: z.strictObject({ email: z.string(), id: z.uuid().optional() }).optional(),
        count: z.int().min(1).max(9).optional(),
        max_age: z.boolean().optional(),
      }),
    },
    handler: () => ({ status: 200, body: {} }),
  }),
  defineRoute({
    summary: 'Answer',
    tag: 'Test',
    scope: null,
    responses: { 204: { description: 'ok' } },
    errors: [],
    method: 'GET',
    path: '/auth/plain',
    operationId: 'getPlain',
    handler: () => ({ status: 204 }),
  }),
];
const PATH = '/api/v1/things/1';
const ALL = 'name, event_types, status, owner, count, max_age';
const server = await startTestServer(routes);
afterAll(() => {
  server.server.close();
});

const send = async (body: unknown, path = PATH) =>
  (await server.send('POST', path, JSON.stringify(body))).body;

describe('a field', () => {
  it.each([
    [{ nmae: 'x' }, 'body.nmae', 'is not a known field; did you mean name?'],
    [{ eventTypes: [] }, 'body.eventTypes', 'is not a known field; did you mean event_types?'],
    [{ events: [] }, 'body.events', 'is not a known field; did you mean event_types?'],
    [{ page: 1 }, 'body.page', `is not a known field; known: ${ALL}`],
    [{ zebra: 1 }, 'body.zebra', `is not a known field; known: ${ALL}`],
    [{ owner: { mail: 'x', email: 'x' } }, 'body.owner.mail', 'is not a known field; did you mean email?'],
    [{ owner: {} }, 'body.owner.email', 'is required'],
    [{ owner: { email: 'x', id: 'x' } }, 'body.owner.id', 'must be a UUID'],
    [{ owner: [] }, 'body.owner', 'must be an object, and is an array'],
    [{ event_types: {} }, 'body.event_types', 'must be an array, and is an object'],
    [{ event_types: ['a'] }, 'body.event_types', 'must have at least 2 entries'],
    [{ event_types: ['a', 'b', 'c', 'd'] }, 'body.event_types', 'must have at most 3 entries'],
    [{ name: '' }, 'body.name', 'must not be empty'],
    [{ name: 'sixsix' }, 'body.name', 'must have at most 5 characters'],
    [{ name: null }, 'body.name', 'must be a string, and is null'],
    [{ status: 'ended' }, 'body.status', 'must be one of: active, suspended'],
    [{ count: 10 }, 'body.count', 'must be at most 9'],
    [{ count: 1.5 }, 'body.count', 'must be a whole number, and is a number'],
    [{ max_age: 'yes' }, 'body.max_age', 'must be true or false, and is a string'],
  ])('%j is refused as %s: %s', async (body, path, message) => {
    const answer = await send(body);
    expect(answer).toMatchObject({ error: 'invalid_request', errors: [{ path, message }] });
  });

  it('that is unknown comes before one that is missing: it is the cause', async () => {
    const answer = await send({ owner: { mail: 'x' } });
    expect(answer.errors.map(({ path }: { path: string }) => path)).toEqual([
      'body.owner.mail',
      'body.owner.email',
    ]);
    expect(answer.detail).toContain('did you mean email?');
  });

  it('of the query is corrected, too', async () => {
    expect((await send({}, `${PATH}?curser=x`)).errors).toEqual([
      { path: 'query.curser', message: 'is not a known field; did you mean cursor?' },
    ]);
  });

  it('that is one of thousands costs an answer of bounded length', async () => {
    const many = Object.fromEntries(Array.from({ length: 900 }, (_, n) => [`unknown${n}`, 1]));
    const { text } = await server.send('POST', PATH, JSON.stringify(many));
    expect(text.length).toBeLessThan(12_000);
    expect(text).toContain('known: name');
  });
});

it.each([
  ['subscriptionId', 'subscription_id'],
  ['webhook', 'subscription_id'],
  ['webhook_id', 'subscription_id'],
  ['page', undefined],
  ['x', undefined],
  ['id', 'id'],
  ['delivery', 'delivery_id'],
  ['subscription_ids_of_all_the_webhooks_that_a_tenant_has_ever_made_here', undefined],
])('the name nearest to %s is %s', (name, nearest) => {
  expect(findNearest(name, ['id', 'subscription_id', 'delivery_id', 'status'])).toBe(nearest);
});

describe('text that is no JSON', () => {
  it.each([
    ['{"name":"a",}', 'is not valid JSON at line 1, column 13'],
    ['{\n "name": "a",\n}', 'is not valid JSON at line 3, column 1'],
    ['{"name":"a"', 'is not valid JSON'],
    ['{"name":', 'is not valid JSON: it ends too early'],
  ])('%j: %s', async (text, message) => {
    const { body } = await server.send('POST', PATH, text);
    expect(body.errors).toEqual([{ path: 'body', message: expect.stringContaining(message) }]);
  });
});

it.each([
  ['/things/1', 'No such address; did you mean /api/v1/things/{id}?'],
  ['/api/v1/things/1/', 'No such address; did you mean /api/v1/things/{id}?'],
  ['/api/v1/auth/plain', 'No such address; did you mean /auth/plain?'],
  ['/auth/plan', 'No such address; did you mean /auth/plain?'],
  ['/api/v1/thinks/1', 'No such address; did you mean /api/v1/things/{id}?'],
  ['/api/v1/blinks', 'No such address; https://demo.example/docs shows all'],
  [`/api/v1/${'things'.repeat(1000)}`, 'No such address; https://demo.example/docs shows all'],
  ['/other', 'No such address; https://demo.example/docs shows all'],
])('%s is answered: %s', async (path, detail) => {
  expect(await send({}, path)).toMatchObject({ error: 'not_found', detail });
});

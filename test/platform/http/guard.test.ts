// What the guard lets through to a handler, and how it words what it refuses.
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { type FieldErrors, invalidFields, parseFields } from '../../../src/platform/errors/field-errors.ts';
import { createRequestTurns } from '../../../src/platform/http/request-turns.ts';
import { defineRoute } from '../../../src/platform/http/route.ts';
import { badToken, startTestServer, tokenFor } from './test-server.ts';

const echo = z.object({ body: z.any().optional(), query: z.any().optional(), params: z.any().optional() });
const base = {
  summary: 'Echo',
  tag: 'Test',
  scope: null,
  responses: { 200: { description: 'ok', schema: echo } },
  errors: [],
} as const;
const item = z.object({ id: z.string(), name: z.string(), created_at: z.string() });

const echoJson = (path: string, operationId: string, scope: 'agents:write' | null, longest?: number) =>
  defineRoute({
    ...base,
    method: 'POST',
    path,
    operationId,
    scope,
    request: {
      ...(longest === undefined ? {} : { longest }),
      params: z.object({ id: z.uuid() }),
      query: z.object({ limit: z.coerce.number().int().min(1).max(200).default(50) }),
      body: z.strictObject({
        name: z.string().min(1).optional(),
        tags: z.array(z.string()).optional(),
        key: z
          .union([z.string(), z.strictObject({ kty: z.string(), tags: z.array(z.string()).optional() })])
          .optional(),
        data: z.json().optional(),
      }),
    },
    handler: ({ body, query, params }) => ({ status: 200, body: { body, query, params } }),
  });

const routes = [
  echoJson('/json/:id', 'echoJson', null),
  echoJson('/known/:id', 'echoKnownJson', 'agents:write'),
  echoJson('/large/:id', 'echoLargeJson', 'agents:write', 1_048_576),
  defineRoute({
    ...base,
    method: 'POST',
    path: '/form',
    operationId: 'echoForm',
    request: { bodyType: 'form', body: z.object({ grant_type: z.string(), scope: z.string().optional() }) },
    handler: ({ body }) => ({ status: 200, body: { body } }),
  }),
  defineRoute({
    ...base,
    method: 'PATCH',
    path: '/item',
    operationId: 'updateItem',
    request: { body: z.strictObject({ name: z.string() }) },
    responses: { 200: { description: 'ok', schema: item } },
    handler: ({ body }) => ({ status: 200, body: { id: '1', created_at: 'now', ...body } }),
  }),
  defineRoute({
    ...base,
    method: 'POST',
    path: '/plain',
    operationId: 'plain',
    handler: () => ({ status: 200, body: { body: 1, query: 1, params: 1 } }),
  }),
  defineRoute({
    ...base,
    method: 'GET',
    path: '/broken',
    operationId: 'broken',
    responses: { 200: { description: 'ok', schema: item } },
    handler: () => ({ status: 200, body: { other: true } }),
  }),
];
const ID = '0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b';
const PATH = `/json/${ID}`;
/** The same with an access token, with which bodies may be larger. */
const KNOWN = `/known/${ID}`;
const LARGE = `/large/${ID}`;
const TOKEN = { authorization: `Bearer ${tokenFor('app', 'agents:write')}` };

const server = await startTestServer(routes);
afterAll(() => server.drain(0));

const paths = (body: { errors?: { path: string; message: string }[] }) =>
  body.errors?.map(({ path }) => path);

describe('JSON bodies', () => {
  it('reach the handler as the schemas give them', async () => {
    const { body } = await server.send('POST', `${PATH}?limit=7`, { name: 'ä😀' });
    expect(body).toEqual({ body: { name: 'ä😀' }, query: { limit: 7 }, params: { id: ID } });
  });

  it('with many mistakes get the first hundred, and how many there are', async () => {
    const names = Array.from({ length: 9_000 }, (_, index) => [`k${index}`, 1]);
    const { status, body } = await server.send('POST', LARGE, Object.fromEntries(names), TOKEN);
    expect(status).toBe(400);
    expect(body.errors).toHaveLength(100);
    expect(body.detail).toContain('(and 8999 more)');
  });

  it('with a list of wrong elements get the first hundred, and no more are worded', () => {
    let worded = 0;
    const error = () => {
      worded += 1;
      return `wrong ${worded}`;
    };
    const schema = z.object({ tags: z.array(z.string({ error })) });
    const parsed = parseFields(schema, 'body', { tags: Array(9_000).fill(1) });
    const { detail, errors } = invalidFields(parsed as FieldErrors);
    expect([detail, errors?.length]).toEqual(['body.tags.0: wrong 1 (and 8999 more)', 100]);
    expect(worded).toBe(100);
  });

  it('have at most 10,000 members and elements', async () => {
    const tags = Array.from({ length: 10_000 }, () => 't');
    const { status, body } = await server.send('POST', LARGE, { tags }, TOKEN);
    expect([status, paths(body)]).toEqual([400, ['body']]);
  });

  it('are parsed in a turn of their tenant, and not with a token that is refused', async () => {
    const turns = createRequestTurns({ connections: 2 });
    const parse = vi.spyOn(turns, 'parse');
    const bounded = await startTestServer(routes, { turns });
    onTestFinished(() => bounded.drain(0));
    const { body } = await bounded.send('POST', PATH, { name: 'x', more: 1 });
    expect(paths(body)).toEqual(['body.more']);
    expect(parse).toHaveBeenCalledOnce();
    for (const [token, status] of [
      [badToken('error:invalid_token'), 401],
      [tokenFor('app', 'agents:read'), 403],
    ] as const) {
      const refused = await bounded.send('POST', KNOWN, {}, { authorization: `Bearer ${token}` });
      expect(refused.status).toBe(status);
    }
    expect(parse).toHaveBeenCalledOnce();
  });

  it('that are empty count as {}', async () => {
    const { status, body } = await server.send('POST', PATH);
    expect(status).toBe(200);
    expect(body.body).toEqual({});
  });

  it.each([
    ['{"name":1}', ['body.name']],
    [
      '{"name":"","tags":["a",1],"extra":1,"more":2}',
      ['body.extra', 'body.more', 'body.name', 'body.tags.1'],
    ],
    ['{"key":{"kty":1}}', ['body.key.kty']],
    ['{"key":7}', ['body.key']],
    ['[]', ['body']],
    ['null', ['body']],
    ['{"name":', ['body']],
    ['{"name":"a","name":"b"}', ['body']],
    ['{"tags":["a\\u0000"]}', ['body.tags.0']],
    ['{"data":{"x":"\\ud800"}}', ['body.data.x']],
    ['{"__proto__":{"name":"x"}}', ['body.__proto__']],
  ])('%s are refused with the fields', async (text, expected) => {
    const { status, body } = await server.send('POST', PATH, text);
    expect(status).toBe(400);
    expect(body.error).toBe('invalid_request');
    expect(paths(body)).toEqual(expected);
    expect(body.detail.startsWith(`${expected[0]}: `)).toBe(true);
    expect(body.error_description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
  });

  it('that are not UTF-8 are refused', async () => {
    const response = await server.fetch(PATH, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: Buffer.from('{"name":"\xff"}', 'latin1'),
    });
    expect(response.status).toBe(400);
  });

  it.each([
    ['text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['application/jsonx', 415],
    ['application/json, text/plain', 415],
    ['application/json; charset=utf-8', 200],
    ['Application/JSON', 200],
  ])('of type %s get %d', async (type, expected) => {
    const { status } = await server.send('POST', PATH, '{}', { 'content-type': type });
    expect(status).toBe(expected);
  });

  it('without a type get 415', async () => {
    const response = await server.fetch(PATH, { method: 'POST', body: Buffer.from('{}') });
    expect(response.status).toBe(415);
  });

  it('that are compressed get 415', async () => {
    const response = await server.fetch(PATH, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: gzipSync('{}'),
    });
    expect(response.status).toBe(415);
  });

  const text = (bytes: number) => `{"name":"${'a'.repeat(bytes - 11)}"}`;

  it.each([
    ['128 KiB with an access token', KNOWN, TOKEN, 131_072],
    ['what their route says', LARGE, TOKEN, 1_048_576],
    ['16 KiB from anybody', PATH, {}, 16_384],
  ] as const)('up to %s are taken, larger ones get 413, announced or not', async (_, path, headers, most) => {
    expect((await server.send('POST', path, text(most), headers)).status).toBe(200);
    expect((await server.send('POST', path, text(most + 1), headers)).status).toBe(413);
    const chunked = await server.fetch(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: new Blob([text(3_000_000)]).stream(),
      duplex: 'half',
    } as RequestInit);
    expect(chunked.status).toBe(413);
    expect((await server.send('POST', path, {}, headers)).status).toBe(200);
  });

  it('that are forms may have several tokens in them', async () => {
    const form = (bytes: number) =>
      server.fetch('/form', {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: `grant_type=${'a'.repeat(bytes - 11)}`,
      });
    expect((await form(65_536)).status).toBe(200);
    expect((await form(65_537)).status).toBe(413);
  });

  it('with a long name do not get it back', async () => {
    const {
      status,
      text: answer,
      body,
    } = await server.send('POST', PATH, `{"${'é'.repeat(7_000)}":1,"${'b'.repeat(114)}😀":1}`);
    expect(status).toBe(400);
    expect(answer.length).toBeLessThan(1_500);
    expect(paths(body)).toEqual([`body.${'é'.repeat(115)}…`, `body.${'b'.repeat(114)}…`]);
    const repeated = await server.send('POST', PATH, `{"data":{"${'c'.repeat(9_000)}":"\\ud800"}}`);
    expect(paths(repeated.body)).toEqual([`body.data.${'c'.repeat(110)}…`]);
    expect(repeated.text.length).toBeLessThan(1_000);
  });

  it('with control characters in a name do not get them back', async () => {
    const { body } = await server.send(
      'POST',
      PATH,
      String.raw`{"a\u001b[31m\r\n\u202e\u2028\u0085":1,"\"é\\":2}`,
    );
    expect(paths(body)).toEqual(['body.a\uFFFD[31m\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD', 'body."é\\']);
    expect(body.error_description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
    const quoted = await server.send('POST', PATH, String.raw`{"\"é\\":2}`);
    expect(quoted.body.detail).toBe('body."é\\: is not a known field; known: name, tags, key, data');
    expect(quoted.body.error_description).toBe(
      "body.'?': is not a known field; known: name, tags, key, data",
    );
  });
});

describe('paths and queries', () => {
  it.each(['nonsense', '%', '%ff', `${ID}x`])('a malformed id (%s) is 404', async (id) => {
    const { status, body } = await server.send('POST', `/json/${id}`, '{', { 'content-type': 'text/plain' });
    expect(status).toBe(404);
    expect(body.error).toBe('not_found');
  });

  it.each([
    ['limit=0', ['query.limit']],
    ['limit=x', ['query.limit']],
    ['limt=5', ['query.limt']],
    ['limit=1&limit=2', ['query.limit']],
    ['limit=%', ['query.limit']],
  ])('the query %s is refused', async (query, expected) => {
    const { status, body } = await server.send('POST', `${PATH}?${query}`, {});
    expect(status).toBe(400);
    expect(paths(body)).toEqual(expected);
  });

  it('an empty parameter is refused where its schema wants a value: as absent it would ask for everything', async () => {
    const { status, body } = await server.send('POST', `${PATH}?limit=`, {});
    expect(status).toBe(400);
    expect(paths(body)).toEqual(['query.limit']);
  });
});

describe('forms', () => {
  const post = (text: string, path = '/form', type = 'application/x-www-form-urlencoded') =>
    server.send('POST', path, text, { 'content-type': type });

  it('reach the handler, unknown and empty parameters left out', async () => {
    const { body } = await post('grant_type=a+b&scope=&other=1');
    expect(body.body).toEqual({ grant_type: 'a b' });
  });

  it.each([
    ['grant_type=a&grant_type=a', 'body.grant_type'],
    ['grant_type=%zz', 'body.grant_type'],
    ['', 'body.grant_type'],
  ])('%j is refused', async (text, path) => {
    const { status, body } = await post(text);
    expect(status).toBe(400);
    expect(body.error).toBe('invalid_request');
    expect(paths(body)).toEqual([path]);
  });

  it('are not taken from the query, nor as JSON', async () => {
    expect((await post('grant_type=a', '/form?scope=b')).status).toBe(400);
    expect((await post('{"grant_type":"a"}', '/form', 'application/json')).status).toBe(415);
  });
});

describe('updates', () => {
  it('ignore our own read-only fields and refuse unknown ones', async () => {
    const sent = { id: '9', created_at: 'then', name: 'new' };
    expect((await server.send('PATCH', '/item', sent)).body).toEqual({
      id: '1',
      created_at: 'now',
      name: 'new',
    });
    const { status, body } = await server.send('PATCH', '/item', { ...sent, nmae: 'x' });
    expect(status).toBe(400);
    expect(paths(body)).toEqual(['body.nmae']);
  });
});

it('a body that a route does not take is left alone', async () => {
  expect((await server.send('POST', '/plain', '{', { 'content-type': 'text/plain' })).status).toBe(200);
});

it('an answer that breaks its own schema is a 500 outside production, and goes out in production', async () => {
  expect((await server.send('GET', '/broken')).status).toBe(500);
  const production = await startTestServer(routes, { config: { nodeEnv: 'production' } });
  expect((await production.send('GET', '/broken')).body).toEqual({ other: true });
  await production.drain(0);
});

// The route table and the description that is made from it.
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ERRORS, type PublishedError } from '../../../src/platform/errors/catalogue.ts';
import { errorsOf } from '../../../src/platform/http/contract.ts';
import { createOpenApi } from '../../../src/platform/http/openapi.ts';
import { problemSchema } from '../../../src/platform/http/openapi-components.ts';
import { createSchemaCollector } from '../../../src/platform/http/openapi-schemas.ts';
import { defineRoute, type Route, takesToken } from '../../../src/platform/http/route.ts';
import { createRouter } from '../../../src/platform/http/router.ts';
import { MANAGEMENT_SCOPES } from '../../../src/platform/scopes.ts';
import { loadAllRoutes } from './route-table.ts';
import { TEST_CONFIG } from './test-server.ts';

const parameter = z.object({
  name: z.string(),
  in: z.enum(['path', 'query', 'header']),
  required: z.boolean().optional(),
  schema: z.looseObject({}),
});
const reference = z.strictObject({ $ref: z.string().startsWith('#/components/') });
const media = z.record(
  z.string(),
  z.object({
    schema: z.looseObject({}).optional(),
    examples: z
      .record(z.string(), z.union([reference, z.strictObject({ summary: z.string(), value: z.unknown() })]))
      .optional(),
  }),
);
const response = z.strictObject({
  description: z.string().min(1),
  headers: z.record(z.string(), reference),
  content: media.optional(),
});
const operation = z.strictObject({
  operationId: z.string().regex(/^[a-z][A-Za-z0-9]*$/),
  summary: z.string().min(3),
  description: z.string().min(10),
  tags: z.array(z.string()).length(1),
  security: z.array(z.record(z.string(), z.array(z.string()))),
  parameters: z.array(z.union([reference, parameter])).optional(),
  requestBody: z.strictObject({ required: z.boolean(), content: media }).optional(),
  responses: z.record(z.string().regex(/^[1-5]\d\d$/), response),
});
const openApiDocument = z.object({
  openapi: z.literal('3.1.1'),
  info: z.object({ title: z.string(), version: z.string() }),
  servers: z.array(z.object({ url: z.string() })).min(1),
  tags: z.array(z.strictObject({ name: z.string(), description: z.string().optional() })),
  paths: z.record(
    z.string().startsWith('/'),
    z.strictObject({
      servers: z.array(z.object({ url: z.string() })).optional(),
      get: operation.optional(),
      post: operation.optional(),
      put: operation.optional(),
      patch: operation.optional(),
      delete: operation.optional(),
    }),
  ),
  components: z.record(z.string(), z.record(z.string(), z.looseObject({}))),
});

const SHARED = '#/components/responses/';

/** The document of these routes, with the answers that they share in place. */
function readDocument(table: readonly Route[]) {
  const made = JSON.parse(JSON.stringify(createOpenApi({ routes: table, config: TEST_CONFIG })));
  const answers = made.components.responses;
  const resolved = JSON.stringify(made, (_, value) =>
    typeof value?.$ref === 'string' && value.$ref.startsWith(SHARED)
      ? answers[value.$ref.slice(SHARED.length)]
      : value,
  );
  return openApiDocument.parse(JSON.parse(resolved));
}

const routes = await loadAllRoutes();
const document = readDocument(routes);

const operations = () =>
  Object.entries(document.paths).flatMap(([path, { get, post, put, patch, delete: remove }]) =>
    [get, post, put, patch, remove].flatMap((described) =>
      described === undefined ? [] : [{ path, ...described }],
    ),
  );

describe('the route table', () => {
  it('is found, and every route in it is complete', () => {
    expect(routes.length).toBeGreaterThan(20);
    for (const route of routes) {
      const scopes: readonly (string | null)[] = [null, 'openid', ...MANAGEMENT_SCOPES];
      expect(scopes, route.operationId).toContain(route.scope);
      expect([...Object.keys(route.responses), ...route.errors], route.operationId).not.toEqual([]);
      expect(route.summary.length, route.operationId).toBeGreaterThan(3);
      for (const code of route.errors) expect(ERRORS, route.operationId).toHaveProperty(code);
    }
    expect(() => createRouter(routes, () => [])).not.toThrow();
  });

  it('asks for a token on every management route', () => {
    for (const route of routes.filter(({ path }) => path.startsWith('/api/')))
      expect(route.scope, route.operationId).not.toBeNull();
  });

  it.each([
    ['events:read', 'webhooks:read'],
    ['tenant:read', 'tenant:write'],
  ])('names %s and the older %s as alternatives', (narrow, broad) => {
    const described = operations().filter(({ security }) =>
      security?.some(({ bearer }: { bearer?: string[] }) => bearer?.includes(narrow)),
    );
    expect(described.length).toBeGreaterThan(0);
    for (const { security, description } of described) {
      expect(security).toEqual([
        { bearer: [narrow] },
        { dpop: [narrow] },
        { bearer: [broad] },
        { dpop: [broad] },
      ]);
      expect(description).toContain(`\`${narrow}\` or \`${broad}\``);
    }
  });

  it('shows each resource whose id has a name of its own with `id` too', () => {
    const schemas = Object.entries(document.components?.schemas ?? {}) as [string, { properties?: object }][];
    const own = ['key_id', 'anchor_id', 'rotation_id', 'replay_id', 'enrollment_token_id', 'challenge_id'];
    const named = ['AgentKey', 'Anchor', 'KeyRotation', 'WebhookReplay', 'EnrollmentToken', 'Challenge'];
    for (const [index, name] of [...named, 'Application'].entries()) {
      const { properties } = schemas.find(([id]) => id === name)?.[1] ?? {};
      expect(Object.keys(properties ?? {}), name).toEqual(
        expect.arrayContaining(['id', own[index] ?? 'client_id']),
      );
    }
  });

  it('lets writing scopes write and reading scopes read only', () => {
    for (const { scope, method, operationId } of routes)
      if (scope?.endsWith(':read')) expect(method, operationId).toBe('GET');
  });

  it('lets every POST that creates or sets something going be repeated with an idempotency key', () => {
    const creates = ({ method, responses }: Route) =>
      method === 'POST' && (201 in responses || 202 in responses);
    const all = routes.filter(creates).filter(({ path }) => path.startsWith('/api/'));
    const once = all.filter(({ idempotent }) => !idempotent).map(({ operationId }) => operationId);
    // Canceling again changes nothing, key or not.
    expect(once.sort()).toEqual(['cancelDelivery', 'cancelWebhookDelivery']);
    expect(all.length).toBeGreaterThan(12);
  });

  it('says of every body what it may hold', () => {
    for (const { method, request, operationId } of routes)
      if (method !== 'GET' && method !== 'DELETE') expect(request?.body, operationId).toBeDefined();
  });

  it('keeps every secret that is shown once out of replays', () => {
    for (const route of routes.filter(({ idempotent }) => idempotent)) {
      const shown = Object.values(route.responses).flatMap(({ schema }) =>
        schema instanceof z.ZodObject ? Object.keys(schema.shape) : [],
      );
      for (const name of shown.filter((field) => /(^|_)secret$|^token$/.test(field)))
        expect(route.secretFields, route.operationId).toContain(name);
    }
  });

  it('refuses two routes of one name, and path parameters without a schema', () => {
    const route = (more: object): Route =>
      defineRoute({
        method: 'GET',
        path: '/a',
        operationId: 'a',
        summary: 'a',
        tag: 'a',
        scope: null,
        responses: { 204: { description: 'a' } },
        errors: [],
        handler: () => ({ status: 204 }),
        ...more,
      });
    expect(() => createRouter([route({}), route({ path: '/b' })], () => [])).toThrow(/Two routes/);
    expect(() => createRouter([route({ path: '/:a' })], () => [])).toThrow(/no schema/);
  });
});

describe('openapi.json', () => {
  it('describes every route once, under a name of its own', () => {
    const names = operations().map(({ operationId }) => operationId);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(expect.arrayContaining(routes.map(({ operationId }) => operationId)));
  });

  it('refers only to what is there', () => {
    const text = JSON.stringify(document);
    expect(text).not.toContain('$defs');
    expect(text).not.toContain('__schema');
    for (const [, target] of text.matchAll(/"\$ref":"#\/([^"]+)"/g)) {
      const found = (target ?? '')
        .split('/')
        .reduce<unknown>((at, name) => (at as Record<string, unknown>)?.[name], document);
      expect(found, target).toBeDefined();
    }
  });

  it('declares exactly the parameters that stand in each path', () => {
    for (const { path, operationId, parameters = [] } of operations()) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      const declared = parameters.flatMap((one) => ('in' in one && one.in === 'path' ? [one.name] : []));
      expect(declared, operationId).toEqual(inPath);
    }
  });

  it('lists every error of every route with an example, under its status', () => {
    for (const route of routes) {
      const described = operations().find(({ operationId }) => operationId === route.operationId);
      for (const code of errorsOf(route)) {
        // A resource answers 401 to a proof that is no good (RFC 9449 §7.1).
        const isOfProof = takesToken(route) && code.includes('dpop');
        const content = described?.responses[isOfProof ? 401 : ERRORS[code].status]?.content;
        expect(content?.['application/problem+json']?.examples, route.operationId).toHaveProperty(code);
        expect(content?.['application/json']?.examples, route.operationId).toHaveProperty(code);
      }
    }
  });

  it('shows each error as it is answered: every example has the status of its response, and its code', () => {
    const examples = document.components.examples ?? {};
    const used = new Set<string>();
    for (const { operationId, responses } of operations())
      for (const [status, { content = {} }] of Object.entries(responses))
        for (const { examples: named = {} } of Object.values(content))
          for (const [code, shown] of Object.entries(named)) {
            if (!('$ref' in shown)) continue;
            const name = shown.$ref.split('/').at(-1) ?? '';
            used.add(name);
            const problem = problemSchema.strict().parse(examples[name]?.value);
            expect([problem.status, problem.error], `${operationId} ${status}`).toEqual([
              Number(status),
              code,
            ]);
          }
    expect(used.size).toBeGreaterThan(25);
    for (const code of ['invalid_dpop_proof', 'use_dpop_nonce'])
      expect([...used]).toEqual(expect.arrayContaining([code, `${code}_401`]));
  });

  it('lists every code that there is, with the status and whether it is reserved', () => {
    const listed = (createOpenApi({ routes, config: TEST_CONFIG }) as { 'x-error-codes': PublishedError[] })[
      'x-error-codes'
    ];
    expect(Object.fromEntries(listed.map(({ code, statuses }) => [code, statuses[0]]))).toEqual(
      Object.fromEntries(Object.entries(ERRORS).map(([code, { status }]) => [code, status])),
    );
    expect(listed.filter(({ reserved }) => reserved).map(({ code }) => code)).toContain('wallet_frozen');
  });

  it('says who may call what', () => {
    const security = Object.fromEntries(operations().map((one) => [one.operationId, one.security]));
    expect(security.introspectToken).toEqual([{ basic: [] }, { private_key_jwt: [] }]);
    expect(security.requestToken).toEqual([
      { basic: [] },
      { private_key_jwt: [] },
      { basic: [], dpop_proof: [] },
      { private_key_jwt: [], dpop_proof: [] },
      { dpop_proof: [] },
      {},
    ]);
    expect(security.verifyChallenge).toEqual([{ dpop_proof: [] }, {}]);
    expect(security.getJwks).toEqual([]);
    expect(security.getSelf).toEqual([{ bearer: [] }, { dpop: [] }]);
    expect(security.createAgent).toEqual([{ bearer: ['agents:write'] }, { dpop: ['agents:write'] }]);
  });

  it('says what each group of operations is about', () => {
    for (const { name, description } of document.tags) expect(description, name).toMatch(/\.$/);
    expect(new Set(operations().flatMap(({ tags }) => tags))).toEqual(
      new Set(document.tags.map(({ name }) => name)),
    );
  });

  it('tells in words which scope an operation needs', () => {
    for (const route of routes.filter(({ scope }) => scope !== null)) {
      const described = operations().find(({ operationId }) => operationId === route.operationId);
      expect(described?.description, route.operationId).toContain(`the scope \`${route.scope}\``);
    }
  });

  it('shows examples that the schemas accept', () => {
    const shown = routes.flatMap(({ operationId, request, responses }) =>
      [
        { schema: request?.described ?? request?.body, examples: request?.examples },
        ...Object.values(responses),
      ].flatMap(({ schema, examples }) =>
        Object.entries(examples ?? {}).map(([name, example]) => ({ operationId, name, schema, example })),
      ),
    );
    expect(shown.length).toBeGreaterThan(15);
    for (const { operationId, name, schema, example } of shown)
      expect(schema?.safeParse(example.value), `${operationId} ${name}`).toMatchObject({ success: true });
  });

  it('names the tenant in the server address, and offers the default tenant only where there is one', () => {
    expect(document.servers.map(({ url }) => url)).toEqual([TEST_CONFIG.publicUrl, TEST_CONFIG.tenantUrl]);
    const without = createOpenApi({ routes: [], config: { ...TEST_CONFIG, defaultTenant: undefined } });
    expect(without.servers).toHaveLength(1);
  });
});

describe('schemas', () => {
  it('hold no escape in patterns that not every dialect of regular expressions has', () => {
    const schema = z.object({ a: z.string().regex(/^[^\u200b-\u200f]+$/) });
    const described = createSchemaCollector().describe(schema, 'input');
    expect(described).toMatchObject({ properties: { a: { pattern: '^[^\u200b-\u200f]+$' } } });
  });

  it('become components by id, with a second form only where input and output differ', () => {
    const inner = z.object({ a: z.string() }).meta({ id: 'HttpTestInner' });
    const outer = z.strictObject({ inner, n: z.number() }).meta({ id: 'HttpTestOuter' });
    const same = z.strictObject({ id: z.uuid() }).meta({ id: 'HttpTestSame' });
    const route = defineRoute({
      method: 'POST',
      path: '/x',
      operationId: 'x',
      summary: 'test',
      tag: 'Test',
      scope: null,
      request: { body: z.strictObject({ outer, same }) },
      responses: { 200: { description: 'ok', schema: z.object({ outer, same }) } },
      errors: [],
      handler: () => ({ status: 200, body: {} }),
    });
    const { components } = readDocument([route]);
    const names = Object.keys(components.schemas ?? {}).filter((name) => name.startsWith('HttpTest'));
    expect(new Set(names)).toEqual(
      new Set(['HttpTestInner', 'HttpTestOuter', 'HttpTestSame', 'HttpTestInnerInput', 'HttpTestOuterInput']),
    );
    expect(components.schemas?.HttpTestOuterInput).toMatchObject({
      properties: { inner: { $ref: '#/components/schemas/HttpTestInnerInput' } },
    });
    expect(components.schemas?.HttpTestSame).toMatchObject({
      properties: { id: { type: 'string', format: 'uuid' } },
    });
  });
});

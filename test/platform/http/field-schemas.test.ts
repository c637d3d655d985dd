// Shapes that several rooms share, tried on every route that uses them.
import { describe, expect, it } from 'vitest';
import { type ZodObject, z } from 'zod';
import { audience, displayName } from '../../../src/platform/http/field-schemas.ts';
import { loadAllRoutes } from './route-table.ts';

const routes = await loadAllRoutes();

const accepts = (schema: { safeParse(value: unknown): { success: boolean } }, value: unknown) =>
  schema.safeParse(value).success;

describe('a display name', () => {
  it.each(['Robot', 'エージェント 🤖', ' spaces around ', '👩\u200d🔧', 'شرکت\u200cها', 'n'.repeat(200)])(
    'may be %j',
    (text) => {
      expect(displayName.parse(text)).toBe(text);
    },
  );

  it.each([
    '',
    ' ',
    '\u3000',
    'a\u0018',
    'a\nb',
    'a\u007f',
    'a\u0085',
    '\u200b\u2060',
    '\u202eerom',
    'a\u2066b',
    'n'.repeat(201),
    7,
  ])('is not %j', (text) => {
    expect(accepts(displayName, text)).toBe(false);
  });

  it('is the same for agents, applications and tenants', () => {
    const bodies = [
      'createAgent',
      'updateAgent',
      'createApplication',
      'updateApplication',
      'updateTenant',
    ].map(
      (id) => routes.find(({ operationId }) => operationId === id)?.request?.body as ZodObject | undefined,
    );
    for (const body of bodies) {
      expect(accepts(body?.pick({ name: true }) ?? displayName, { name: 'Robot' })).toBe(true);
      expect(accepts(body?.pick({ name: true }) ?? displayName, { name: 'a\u0018b' })).toBe(false);
    }
  });
});

it.each([
  ['https://api.example', true],
  ['urn:example:é', true],
  ['', false],
  ['a b', false],
  ['a\u00a0b', false],
  ['a\u0000', false],
  ['a\u0090', false],
  ['a'.repeat(501), false],
])('the audience %j is admitted: %s', (text, expected) => {
  expect(accepts(audience, text)).toBe(expected);
});

describe('the limit of every list', () => {
  const lists = () =>
    routes.flatMap(({ operationId, request }) =>
      request?.query !== undefined && 'limit' in request.query.shape
        ? [{ operationId, query: z.strictObject({ limit: request.query.shape.limit }) }]
        : [],
    );

  it('is there to be tried', () => expect(lists().length).toBeGreaterThanOrEqual(5));

  it.each(['0x10', '1e1', ' 1', '1 ', '+1', '1.0', '01', '-1', '0', '201', '1000', '', '١'])(
    'is not %j',
    (text) => {
      for (const { operationId, query } of lists())
        expect([operationId, accepts(query, { limit: text })]).toEqual([operationId, false]);
    },
  );

  it.each([
    ['1', 1],
    ['200', 200],
    [undefined, 50],
  ])('%j is %d', (text, number) => {
    for (const { query } of lists()) expect(query.parse({ limit: text })).toEqual({ limit: number });
  });
});

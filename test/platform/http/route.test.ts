// Tables of routes: what each takes over from its table, and the answers that handlers share.
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  accepted,
  created,
  locate,
  noContent,
  ok,
  page,
  pageSchema,
} from '../../../src/platform/http/answers.ts';
import { defineRoute, defineRoutes } from '../../../src/platform/http/route.ts';

const route = (method: 'GET' | 'PUT' | 'DELETE') =>
  ({
    method,
    path: `/${method}`,
    operationId: method,
    summary: 'test',
    responses: {},
    handler: () => ok(1),
  }) as const;

describe('a table of routes', () => {
  it('gives each route its tag and the scope of its method', () => {
    const table = defineRoutes(
      { tag: 'Agents', about: 'Agents.', read: 'agents:read', write: 'agents:write' },
      [route('GET'), route('PUT'), route('DELETE')],
    );
    expect(table.map(({ tag, about, scope, errors }) => [tag, about, scope, errors])).toEqual([
      ['Agents', 'Agents.', 'agents:read', []],
      ['Agents', 'Agents.', 'agents:write', []],
      ['Agents', 'Agents.', 'agents:write', []],
    ]);
  });

  it('may have one scope for all methods', () => {
    const table = defineRoutes({ tag: 'Tokens', scope: null }, [route('GET'), route('PUT')]);
    expect(table.map(({ scope }) => scope)).toEqual([null, null]);
  });

  it('lets a route say otherwise', () => {
    const [first] = defineRoutes({ tag: 'Agents', about: 'Agents.', scope: 'agents:read' }, [
      { ...route('GET'), tag: 'Tokens', scope: null, errors: ['conflict'] },
    ]);
    expect(first).toMatchObject({ tag: 'Tokens', scope: null, errors: ['conflict'] });
    expect(first).not.toHaveProperty('about');
  });

  it('types each handler from the schemas of its own route', () => {
    const table = defineRoutes({ tag: 'Agents', scope: null }, [
      {
        ...route('GET'),
        request: { params: z.object({ id: z.string() }) },
        handler: ({ params, body }) => {
          const id: string = params.id;
          const none: undefined = body;
          return ok([id, none]);
        },
      },
      {
        ...route('PUT'),
        request: { body: z.object({ size: z.number() }) },
        handler: ({ body }) => {
          const size: number = body.size;
          // @ts-expect-error the field of another route
          return ok([size, body.id]);
        },
      },
      // @ts-expect-error a misspelt part of the request
      { ...route('DELETE'), request: { boby: z.object({}) } },
    ]);
    expect(table).toHaveLength(3);
  });
});

describe('one route', () => {
  it('declares no error unless it says so', () =>
    expect(defineRoute({ ...route('GET'), tag: 'Agents', scope: null }).errors).toEqual([]));
});

describe('an answer', () => {
  it.each([
    [200, ok],
    [201, created],
    [202, accepted],
  ])('has the status %i, a body, and headers where there are any', (status, answer) => {
    expect(answer({ a: 1 })).toEqual({ status, body: { a: 1 } });
    expect(answer({ a: 1 }, { b: 'c' })).toEqual({ status, body: { a: 1 }, headers: { b: 'c' } });
  });

  it('without content comes after the work, and not when the work fails', async () => {
    let isDone = false;
    const work = Promise.resolve().then(() => {
      isDone = true;
    });
    expect([await noContent(work), isDone]).toEqual([{ status: 204 }, true]);
    await expect(noContent(Promise.reject(new Error('no')))).rejects.toThrow('no');
  });

  it('that is a page shows each item, and names the id of the next page, which the shell makes a cursor', () => {
    const { status, body, nextCursor } = page({ data: [1, 2], nextCursor: 'x' }, String);
    expect([status, body, nextCursor]).toEqual([200, { data: ['1', '2'] }, 'x']);
    const sent = { data: ['1', '2'], next_cursor: 'y' };
    expect(pageSchema(z.string(), 'TestPage').parse(sent)).toEqual(sent);
  });

  it('names what was made below the address of the tenant', () => {
    const tenant = { baseUrl: 'https://a.example/t/acme' };
    expect(locate({ tenant } as never, '/agents/7')).toEqual({
      location: 'https://a.example/t/acme/agents/7',
    });
  });
});

// Answers from values: every field of the schema and no other, whatever the value holds besides.
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { camelCase, readFields } from '../../../src/platform/http/field-names.ts';
import { present } from '../../../src/platform/http/present.ts';

const TIME = new Date('2026-03-01T12:00:00.000Z');
const ISO = '2026-03-01T12:00:00.000Z';
const timestamp = z.iso.datetime();

const part = z.object({ part_id: z.string(), made_at: timestamp.nullable() });
const schema = z.strictObject({
  id: z.string(),
  agent_id: z.string().nullable(),
  first_byte_ms: z.number(),
  created_at: timestamp,
  ended_at: timestamp.nullable(),
  scopes: z.array(z.string()),
  times: z.array(timestamp),
  parts: z.array(part),
  part: part.nullable(),
  metadata: z.record(z.string(), z.unknown()),
  secret: z.string().optional(),
});

const value = {
  id: 'a',
  agentId: null,
  firstByteMs: 7,
  createdAt: TIME,
  endedAt: null,
  scopes: ['x'] as const,
  times: [TIME],
  parts: [{ partId: 'p', madeAt: TIME, sealed: 'no' }],
  part: null,
  metadata: { any_thing: { goesOut: TIME } },
  tenantId: 'of nobody else',
  passwordHash: 'secret',
};

const shown = {
  id: 'a',
  agent_id: null,
  first_byte_ms: 7,
  created_at: ISO,
  ended_at: null,
  scopes: ['x'],
  times: [ISO],
  parts: [{ part_id: 'p', made_at: ISO }],
  part: null,
  metadata: { any_thing: { goesOut: TIME } },
};

describe('a value is shown', () => {
  it('with the fields of the schema, at every depth, and no others', () => {
    expect(present(schema, value)).toEqual(shown);
    expect(Object.keys(present(schema, value))).toEqual(Object.keys(shown));
  });

  it('as what its schema accepts', () => expect(schema.safeParse(present(schema, value)).success).toBe(true));

  it('the same again', () => expect(present(schema, value)).toEqual(present(schema, value)));

  it('with fields that come beside it, by their names in the answer, in place of its own', () => {
    const extra = {
      agent_id: 'b',
      ended_at: TIME,
      part: { part_id: 'q', made_at: ISO },
      parts: [{ partId: 'r', madeAt: TIME }],
      secret: 's',
    };
    expect(present(schema, value, extra)).toEqual({
      ...shown,
      agent_id: 'b',
      ended_at: ISO,
      part: { part_id: 'q', made_at: ISO },
      parts: [{ part_id: 'r', made_at: ISO }],
      secret: 's',
    });
  });

  it('with a null that comes beside it in place of its own', () => {
    const ended = { ...value, endedAt: TIME };
    expect(present(schema, ended, { ended_at: null }).ended_at).toBeNull();
  });

  it('without a field that is not there', () => {
    expect(present(schema, value, { secret: undefined })).not.toHaveProperty('secret');
  });

  it('only when it has every field that the schema requires', () => {
    const { id: _, ...without } = value;
    // @ts-expect-error the id is missing
    present(schema, without);
    // @ts-expect-error the schema has no such field
    present(schema, value, { password_hash: 'x' });
    // @ts-expect-error a number is no timestamp
    present(schema, { ...value, createdAt: 7 });
    present(schema, without, { id: 'b' });
  });
});

describe('whatever a value holds', () => {
  const NAMES = [
    'id',
    'secret',
    'a_b',
    'aB',
    '__proto__',
    'constructor',
    'toString',
    'sealed_key',
    'sealedKey',
  ];
  const LEAVES = [TIME, 'text', 7, null, true] as const;

  /** A generator of numbers from 0 to `below`, the same for the same seed. */
  function createNumbers(seed: number) {
    let state = seed;
    return (below: number) => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
  }

  function makeSchema(next: (below: number) => number, depth: number): z.ZodObject {
    const fields = NAMES.filter(() => next(2) === 0 && depth >= 0).map((name) => {
      const kinds = [z.string(), timestamp, z.number(), ...(depth > 0 ? [makeSchema(next, depth - 1)] : [])];
      const kind: z.ZodType = kinds[next(kinds.length)] ?? z.string();
      return [name, [kind, kind.nullable(), z.array(kind), kind.optional()][next(4)] ?? kind] as const;
    });
    return z.object(Object.fromEntries(fields.filter(([name]) => name !== '__proto__')));
  }

  function makeValue(next: (below: number) => number, depth: number): unknown {
    const kind = depth > 0 ? next(3) : 0;
    if (kind === 0) return LEAVES[next(LEAVES.length)];
    if (kind === 1) return [makeValue(next, depth - 1), makeValue(next, depth - 1)];
    return Object.fromEntries(
      NAMES.filter(() => next(3) > 0).map((name) => [name, makeValue(next, depth - 1)]),
    );
  }

  /** Paths of what is shown that the schema does not know. */
  function foreign(shape: z.ZodType, found: unknown, path = ''): string[] {
    if (shape instanceof z.ZodNullable || shape instanceof z.ZodOptional)
      return foreign(shape.unwrap() as z.ZodType, found, path);
    if (shape instanceof z.ZodArray && Array.isArray(found))
      return found.flatMap((item) => foreign(shape.element as z.ZodType, item, `${path}[]`));
    if (!(shape instanceof z.ZodObject) || typeof found !== 'object' || found === null) return [];
    if (Array.isArray(found)) return [];
    return Object.entries(found).flatMap(([name, inner]) => {
      const known = Object.hasOwn(shape.shape, name) ? (shape.shape[name] as z.ZodType) : undefined;
      return known === undefined ? [`${path}.${name}`] : foreign(known, inner, `${path}.${name}`);
    });
  }

  it('no field goes out that the schema does not have', () => {
    const next = createNumbers(20_260_301);
    let fields = 0;
    for (let round = 0; round < 500; round += 1) {
      const random = makeSchema(next, 2);
      const source = Object.fromEntries(NAMES.map((name) => [name, makeValue(next, 3)]));
      const found = present(random, source as never);
      expect(foreign(random, found)).toEqual([]);
      fields += Object.keys(found).length;
    }
    expect(fields).toBeGreaterThan(500);
  });
});

describe('names', () => {
  it.each([
    ['id', 'id'],
    ['agent_id', 'agentId'],
    ['first_byte_ms', 'firstByteMs'],
    ['sha_256', 'sha256'],
    ['alreadyThere', 'alreadyThere'],
  ])('%s is %s in code', (name, expected) => expect(camelCase(name)).toBe(expected));

  it('of a request are changed at the top, and only of fields that it has', () => {
    const body: { agent_id: string; old_key?: string | undefined; data: { in_side: 1 }; to_null: null } = {
      agent_id: 'a',
      old_key: undefined,
      data: { in_side: 1 },
      to_null: null,
    };
    const fields: { agentId: string; oldKey?: string; data: { in_side: 1 }; toNull: null } = readFields(body);
    expect(Object.entries(fields)).toEqual([
      ['agentId', 'a'],
      ['data', { in_side: 1 }],
      ['toNull', null],
    ]);
  });
});

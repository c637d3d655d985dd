// What a publisher may send.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CATALOGUE, isReserved } from '../../../src/events/catalogue.ts';
import { isEventType } from '../../../src/events/filter.ts';
import { parseTimestamp } from '../../../src/platform/timestamp.ts';
import { publishBody, readPublication } from '../../../src/webhooks/intake/event.schemas.ts';
import { contentOf } from '../../../src/webhooks/intake/publication.ts';

const VALID = { type: 'org.created', data: {} };
describe('an event of a publisher', () => {
  it.each([
    ['a null', null, 'body'],
    ['an unknown field', { ...VALID, extra: 1 }, 'body.extra'],
    ['no type', { data: {} }, 'body.type'],
    ['a type of one segment', { ...VALID, type: 'org' }, 'body.type'],
    ['a type in capitals', { ...VALID, type: 'Org.created' }, 'body.type'],
    ['a pattern as type', { ...VALID, type: 'org.*' }, 'body.type'],
    ['a type that the service emits', { ...VALID, type: 'auth.login.success' }, 'body.type'],
    ['a reserved type that does not exist', { ...VALID, type: 'webhook.anything' }, 'body.type'],
    ['no data', { type: 'org.created' }, 'body.data'],
    ['an array as data', { ...VALID, data: [] }, 'body.data'],
    ['text as data', { ...VALID, data: 'x' }, 'body.data'],
    ['an empty id', { ...VALID, event_id: '' }, 'body.event_id'],
    ['an id with a space', { ...VALID, event_id: 'a b' }, 'body.event_id'],
    ['an id that is too long', { ...VALID, event_id: 'x'.repeat(129) }, 'body.event_id'],
    ['a number as id', { ...VALID, event_id: 7 }, 'body.event_id'],
    ['a date without a time', { ...VALID, occurred_at: '2026-01-01' }, 'body.occurred_at'],
  ])('%s is refused and the field named', (_title, value, path) => {
    expect(readPublication(value, 'body')).toMatchObject({ code: 'invalid_request', errors: [{ path }] });
  });

  it('may come in an array of 1 to 500', () => {
    const array = (length: number) => publishBody.safeParse(Array.from({ length }, () => 'anything')).success;
    expect([0, 1, 500, 501].map(array)).toEqual([false, true, true, false]);
    expect(publishBody.safeParse('text').success).toBe(false);
  });
});

describe('the content of an event', () => {
  it('does not depend on the order of members, and depends on everything else', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.dictionary(fc.string(), fc.jsonValue()),
        (a, b) => {
          const content = (data: unknown) => {
            const event = readPublication(
              { type: 'org.created', data: JSON.parse(JSON.stringify(data)) },
              'body',
            );
            return event instanceof Error ? event.message : contentOf(event);
          };
          const reversed = Object.fromEntries(Object.entries(a).reverse());
          expect(content(reversed)).toBe(content(a));
          const equal = JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
          expect(content(a) === content(b)).toBe(equal);
        },
      ),
    );
  });
});

describe('a time', () => {
  it.each([
    ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05.000Z'],
    ['2026-01-02t03:04:05z', '2026-01-02T03:04:05.000Z'],
    ['2026-01-02T03:04:05.1Z', '2026-01-02T03:04:05.100Z'],
    ['2026-01-02T03:04:05.123456789+05:30', '2026-01-01T21:34:05.123Z'],
    ['2026-01-02T03:04:05-00:00', '2026-01-02T03:04:05.000Z'],
    ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
  ])('%s is %s', (text, expected) => {
    expect(parseTimestamp(text)?.toISOString()).toBe(expected);
  });

  it.each([
    '2026-01-02T03:04:05',
    '2026-01-02 03:04:05Z',
    '2026-01-02T03:04Z',
    '2026-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:00:00+24:00',
    '1969-12-31T23:59:59Z',
    '0000-01-01T00:00:00Z',
    '9999-12-31T23:59:59-01:00',
    '+010000-01-01T00:00:00Z',
    '1767225600',
    'yesterday',
    '',
  ])('%s is none', (text) => {
    expect(parseTimestamp(text)).toBeUndefined();
  });

  it('is read back from every ISO form of JavaScript', () => {
    const range = { min: new Date(0), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true };
    fc.assert(
      fc.property(fc.date(range), (date) => {
        expect(parseTimestamp(date.toISOString())).toEqual(date);
      }),
    );
  });
});

describe('the catalogue', () => {
  it('holds well-formed types, each once', () => {
    expect(CATALOGUE.filter(({ type }) => !isEventType(type))).toEqual([]);
    expect(new Set(CATALOGUE.map(({ type }) => type)).size).toBe(CATALOGUE.length);
  });

  it('reserves every type that the source emits, and describes it', () => {
    const source = readdirSync('src', { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && file !== join('events', 'catalogue.ts'))
      .map((file) => readFileSync(`src/${file}`, 'utf8'))
      .join('\n');
    const emitted = [
      ...source.matchAll(/(?:type(?: =|:)|[A-Z_]+ =) '((?:auth|admin|security|webhook)\.[a-z_.]+)'/g),
    ];
    const types = new Set(emitted.map(([, type]) => type ?? ''));
    expect(types.size).toBeGreaterThan(8);
    const described = CATALOGUE.map(({ type }) => type);
    for (const type of types) {
      expect(isReserved(type), type).toBe(true);
      expect(described).toContain(type);
    }
  });

  it('reserves what the service emits and leaves the rest to publishers', () => {
    expect(
      ['admin.agent.registered', 'admin.agent.key.made_up', 'webhook.x', 'auth.token.issued'].every(
        isReserved,
      ),
    ).toBe(true);
    expect(['auth.logout', 'wallet.tx.signed', 'admin.user.created', 'webhooks.mine'].some(isReserved)).toBe(
      false,
    );
  });
});

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? 0 : value;
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => [name, sorted(member)]);
}

// Holds event types and filters: what is accepted, and that the index candidates are exactly the filters that match.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  filterCandidates,
  isEventType,
  isFilter,
  isPattern,
  matches,
  normalizeFilter,
} from '../../src/events/filter.ts';

const segment = fc.stringMatching(/^[a-c][a-c0-1_]{0,2}$/);
const eventType = fc.array(segment, { minLength: 2, maxLength: 5 }).map((segments) => segments.join('.'));
const pattern = fc.oneof(
  fc.constantFrom('*', '**'),
  fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => `${segments.join('.')}.*`),
);

describe('isEventType', () => {
  it.each(['auth.login', 'auth.login.success', 'a.b.c.d.e', 'auth.adaptive_mfa.triggered', 'a0_.b1_'])(
    'accepts %s',
    (type) => expect(isEventType(type)).toBe(true),
  );

  it.each([
    ...[
      '',
      'auth',
      'a.b.c.d.e.f',
      'auth..login',
      '.auth.login',
      'auth.login.',
      'Auth.login',
      'auth.Login',
      'auth.*',
    ],
    ...[
      '0auth.login',
      '_auth.login',
      'auth.0',
      'auth login.x',
      'auth.login\n',
      'ａuth.login',
      'auth-x.login',
      '*',
    ],
    `a.${'b'.repeat(127)}`,
  ])('refuses %j', (type) => expect(isEventType(type)).toBe(false));

  it('takes 128 characters and no more', () => {
    expect(isEventType(`a.${'b'.repeat(126)}`)).toBe(true);
  });
});

describe('isPattern', () => {
  it.each(['*', '**', 'auth.*', 'a.b.c.d.*'])('accepts %s', (text) => expect(isPattern(text)).toBe(true));

  it.each([
    '',
    'auth',
    'auth.login',
    '***',
    '.*',
    'auth.**',
    '*.login',
    'auth.*.x',
    'a.b.c.d.e.*',
    'Auth.*',
    'auth*',
  ])('refuses %j', (text) => expect(isPattern(text)).toBe(false));
});

describe('filters', () => {
  it('names the candidates from the narrowest to the widest', () => {
    expect(filterCandidates('a.b.c')).toEqual(['a.b.c', 'a.b.*', 'a.*', '*']);
  });

  it('stores ** as *, and leaves everything else', () => {
    expect(normalizeFilter('**')).toBe('*');
    expect(normalizeFilter(' auth.* ')).toBe(' auth.* ');
  });

  it.each([
    ['auth.*', 'auth.login', true],
    ['auth.*', 'auth.login.success', true],
    ['auth.*', 'authority.login', false],
    ['auth.login.*', 'auth.login', false],
    ['auth.login', 'auth.login.success', false],
    ['*', 'wallet.tx.signed', true],
    ['**', 'wallet.tx.signed', true],
  ])('%s against %s: %s', (filter, type, expected) => {
    expect(matches([filter], type)).toBe(expected);
  });

  it('selects by candidates exactly what it selects by matching', () => {
    fc.assert(
      fc.property(fc.oneof(eventType, pattern), eventType, (filter, type) => {
        expect(filterCandidates(type).includes(normalizeFilter(filter))).toBe(matches([filter], type));
      }),
      { numRuns: 2000 },
    );
  });

  it('gives candidates that are filters themselves', () => {
    fc.assert(
      fc.property(eventType, (type) => {
        const candidates = filterCandidates(type);
        expect(candidates.every(isFilter)).toBe(true);
        expect(new Set(candidates).size).toBe(type.split('.').length + 1);
      }),
    );
  });
});

// The memory of what has ended: how long an entry stays, what a later event admits, and how much one client can fill.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createRevocationBook,
  type FeedEvent,
} from '../../../packages/resource-server/src/revocation-book.ts';
import { countMapReads } from './map-reads.ts';

const START = 1_800_000_000_000;
const LIFE = 300_000;

/** A UUIDv7 of this time. */
const idAt = (time: number, number = 0): string => {
  const hex = time.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${String(number).padStart(12, '0')}`;
};

/** A token of an application that was issued at this time. */
const tokenAt = (time: number, claims: Record<string, unknown> = {}) => ({
  header: {},
  claims: {
    jti: idAt(time),
    sub: 'app',
    client_id: 'app',
    iat: time / 1000,
    exp: (time + LIFE) / 1000,
    ...claims,
  },
});

const revoked = (id: string, occurredAt: number, data: Record<string, unknown> = {}): FeedEvent => ({
  type: 'auth.token.revoked',
  occurredAt,
  data: { token_type: 'access_token', token_id: id, ...data },
});

const all = (sub: string, occurredAt: number, ends: 'now' | 'ever'): FeedEvent => ({
  type: 'auth.token.revoked',
  occurredAt,
  data: { token_type: 'all', sub, ends },
});

describe('the memory', () => {
  it('keeps an entry for the longest life of a token, and knows of what it had no room for', () => {
    const book = createRevocationBook({ longestTokenSeconds: 100, limit: 2 });
    for (const id of ['a', 'b', 'c']) book.add(revoked(id, 0), 0);
    expect(book.size).toBe(2);
    const left = { header: {}, claims: { jti: 'c' } };
    expect([book.mayHaveEnded(left, 159_999), book.mayHaveEnded(left, 160_000)]).toEqual([true, false]);
    expect(book.mayHaveEnded({ header: {}, claims: { jti: 'e' } }, 1)).toBe(false);
    book.add(revoked('d', 180_000), 180_000);
    expect(book.size).toBe(1);
    expect(book.hasEnded({ header: {}, claims: { jti: 'd' } }, 180_000)).toBe(true);
    expect(book.mayHaveEnded(left, 180_000)).toBe(false);
  });

  it('keeps a token until its own end, and refuses it then as expired, whatever another clock says', () => {
    const book = createRevocationBook({ longestTokenSeconds: 3_600, limit: 9 });
    const token = tokenAt(START);
    const expires_at = new Date(START + LIFE).toISOString();
    book.add(
      revoked(idAt(START), START + 1_000, { sub: 'app', client_id: 'app', expires_at }),
      START + 1_000,
    );
    const sizeAt = (time: number) => {
      book.forget(time);
      return [book.size, book.hasEnded(token, time)];
    };
    expect([sizeAt(START + LIFE + 59_000), sizeAt(START + LIFE + 61_000)]).toEqual([
      [1, true],
      [0, true],
    ]);
  });

  it('does not admit a suspended agent because one of its keys is revoked', () => {
    const book = createRevocationBook({ longestTokenSeconds: 100, limit: 9 });
    book.add({ type: 'admin.agent.suspended', occurredAt: 1_000, data: { agent_id: 'a' } }, 0);
    book.add({ type: 'admin.agent.key.revoked', occurredAt: 2_000, data: { agent_id: 'a' } }, 0);
    expect(book.hasEnded({ header: {}, claims: { jti: 't', sub: 'a', iat: 3 } }, 0)).toBe(true);
  });

  it.each(['sub', 'client_id', 'tenant_id'])('ends all tokens of a principal that is their %s', (claim) => {
    const book = createRevocationBook({ longestTokenSeconds: 300, limit: 9 });
    const ended = (time: number) => book.hasEnded(tokenAt(time, { [claim]: 'p' }), time);
    book.add(all('p', START, 'now'), START);
    expect([ended(START), ended(START + 1)]).toEqual([true, false]);
    book.add(all('p', START + 10, 'ever'), START + 10);
    book.add(all('other', START + 20, 'now'), START + 20);
    expect(ended(START + 30)).toBe(true);
    book.add(all('p', START + 40, 'now'), START + 40);
    expect([ended(START + 40), ended(START + 41)]).toEqual([true, false]);
    book.add(all('p', START + 5, 'now'), START + 41);
    expect(ended(START + 40)).toBe(true);
  });
});

describe('a client that ends its own tokens', () => {
  const pairs = (
    book: ReturnType<typeof createRevocationBook>,
    count: number,
    holder = 'app',
    every = 15,
  ) => {
    for (let n = 0; n < count; n += 1) {
      const time = START + n * every;
      const expires_at = new Date(time + LIFE).toISOString();
      book.add(revoked(idAt(time, n), time + 5, { sub: holder, client_id: holder, expires_at }), time + 5);
    }
    return START + count * every;
  };

  it('fills a hundredth of the memory, so that the verdict on others stays what it was', () => {
    const book = createRevocationBook({ longestTokenSeconds: 3_600, limit: 500 });
    const end = pairs(book, 1_100);
    expect(book.mayHaveEnded(tokenAt(START), end)).toBe(false);
    expect(book.size).toBeLessThanOrEqual(6);
    expect(book.hasEnded(tokenAt(START, { sub: 'other', client_id: 'other' }), end)).toBe(false);
    expect(book.hasEnded(tokenAt(end), end)).toBe(false);
  });

  it('is one agent, where agents share a client', () => {
    const book = createRevocationBook({ longestTokenSeconds: 3_600, limit: 500 });
    const data = { sub: 'one', client_id: 'service-agent' };
    for (let n = 0; n < 20; n += 1) book.add(revoked(idAt(START, n), START + n, data), START + n);
    const ended = (sub: string) => book.hasEnded(tokenAt(START, { sub, client_id: 'service-agent' }), START);
    expect([ended('one'), ended('two'), book.size <= 6]).toEqual([true, false, true]);
  });

  it('never gets a token back that has ended, or one that was derived from it', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.array(fc.record({ issued: fc.nat(9_999), after: fc.nat(5_000), skew: fc.nat(50) }), {
          maxLength: 60,
        }),
        (hundredth, ends) => {
          const book = createRevocationBook({ longestTokenSeconds: 3_600, limit: hundredth * 100 });
          const sorted = ends
            .map(({ issued, after, skew }, n) => ({
              id: idAt(START + issued + skew, n),
              derivedAt: START + issued + after,
              at: START + issued + after,
            }))
            .sort((one, two) => one.at - two.at);
          for (const { id, at } of sorted) book.add(revoked(id, at, { sub: 'app', client_id: 'app' }), at);
          for (const { id, derivedAt } of sorted) {
            const derived = tokenAt(derivedAt, { sub: 'u', client_id: 'gateway', derived_from: [id, 'app'] });
            expect(book.hasEnded(tokenAt(START, { jti: id }), START)).toBe(true);
            expect(book.hasEnded(derived, START)).toBe(true);
          }
          expect(book.size).toBeLessThanOrEqual(hundredth + 1);
        },
      ),
    );
  });
});

describe('a client that makes principals and ends them', () => {
  const KINDS = [
    (id: string) => ({ type: 'admin.agent.deleted', data: { agent_id: id } }),
    (id: string) => ({ type: 'admin.delegation.revoked', data: { delegation_id: id } }),
    (id: string) => ({
      type: 'auth.token.revoked',
      data: { token_type: 'all', sub: id, principal: 'application', ends: 'ever' },
    }),
  ];
  const LIMIT = 500;
  const end = (book: ReturnType<typeof createRevocationBook>, from: number, count: number, at = START) => {
    for (let n = from; n < from + count; n += 1)
      book.add({ ...KINDS[n % 3]?.(idAt(START, n)), occurredAt: at } as FeedEvent, at);
  };
  const named = (n: number, at = START) => {
    const id = idAt(START, n);
    return tokenAt(at, [{ sub: id }, { sub: 'user', delegation_id: id }, { client_id: id }][n % 3]);
  };

  it('makes no other token unknown, however many it ends, and loses none of those', () => {
    const book = createRevocationBook({ longestTokenSeconds: 3_600, limit: LIMIT });
    end(book, 0, 100_001);
    expect(book.size).toBe(LIMIT);
    const verdict = (n: number) =>
      book.hasEnded(named(n), START) ? 'ended' : book.mayHaveEnded(named(n), START) ? 'unknown' : 'live';
    const ended = Array.from({ length: 100_001 }, (_, n) => verdict(n));
    expect(ended.filter((one) => one === 'ended')).toHaveLength(LIMIT);
    expect(ended.filter((one) => one === 'unknown')).toHaveLength(100_001 - LIMIT);
    const others = Array.from({ length: 10_000 }, (_, n) => verdict(1_000_000 + n));
    expect(others.filter((one) => one !== 'live').length).toBeLessThan(10);
  });

  it('has not all entries searched for each one that finds no room', () => {
    const book = createRevocationBook({ longestTokenSeconds: 3_600, limit: 1_000 });
    end(book, 0, 1_000);
    expect(countMapReads(() => end(book, 1_000, 1_000))).toBeLessThan(3 * 1_000);
    // Those that have expired make room a second later.
    end(book, 2_000, 1, START + 3_700_000);
    expect(book.size).toBe(1);
  });

  it('has left nothing behind when its tokens have expired, and loses none meanwhile', () => {
    const book = createRevocationBook({ longestTokenSeconds: 100, limit: 1 });
    const minute = 60_000;
    for (let n = 0; n < 12; n += 1) {
      end(book, n * 10, 10, START + n * minute);
      // They are judged unknown until the last token of theirs has expired: for 160 s.
      for (let age = 0; age <= Math.min(n, 2); age += 1)
        expect(book.mayHaveEnded(named((n - age) * 10 + 9), START + n * minute)).toBe(true);
    }
    expect(book.mayHaveEnded(named(9), START + 11 * minute)).toBe(false);
    book.forget(START + 20 * minute);
    expect(book.mayHaveEnded(named(119), START + 20 * minute)).toBe(false);
    end(book, 3, 1, START + 20 * minute);
    expect(book.hasEnded(named(3, START + 20 * minute), START + 20 * minute)).toBe(true);
  });

  it('keeps nobody from being suspended and admitted again where the memory knows him', () => {
    const book = createRevocationBook({ longestTokenSeconds: 3_600, limit: 3 });
    book.add(all('p', START, 'ever'), START);
    end(book, 0, 10);
    book.add(all('p', START + 5, 'now'), START + 5);
    const late = tokenAt(START + 6, { sub: 'p' });
    expect([book.hasEnded(late, START + 6), book.mayHaveEnded(late, START + 6)]).toEqual([false, false]);
    expect(book.hasEnded(tokenAt(START + 5, { sub: 'p' }), START + 6)).toBe(true);
  });
});

// When a key set is fetched, and for how long it serves: a counting fetcher and a clock that stands still unless moved.
import { beforeEach, describe, expect, it } from 'vitest';
import type { TrustedJwk } from '../../../src/authentication/trusted-issuers/jwk-set.ts';
import { JwksError } from '../../../src/authentication/trusted-issuers/jwks.client.ts';
import { STALE } from '../../../src/authentication/trusted-issuers/jwks-lifetime.ts';
import { KeySetCache, type KeySource } from '../../../src/authentication/trusted-issuers/key-set.service.ts';

const FRESH = 600_000;
const key = (kid: string): TrustedJwk => ({ kty: 'EC', crv: 'P-256', x: 'x', y: 'y', kid });
let notes: (string | null)[];
let noting: Error | undefined;
const source: KeySource = {
  id: 'one',
  uri: 'https://idp.example/jwks',
  note: async (error) => {
    notes.push(error);
    if (noting !== undefined) throw noting;
  },
};

let clock: number;
let fetches: string[];
let published: string[] | Error;
let gate: Promise<void> | undefined;
let failures: unknown[];
let cache: KeySetCache;

beforeEach(() => {
  clock = 1_000_000;
  fetches = [];
  failures = [];
  notes = [];
  noting = undefined;
  published = ['a'];
  gate = undefined;
  cache = newCache();
});

function newCache(limit?: number) {
  return new KeySetCache({
    fetch: async (uri) => {
      fetches.push(uri);
      await gate;
      if (published instanceof Error) throw published;
      return { keys: published.map(key), freshness: FRESH };
    },
    log: { warn: ({ reason }) => failures.push(reason) },
    now: () => clock,
    limit,
  });
}
const find = async (kid: string, from = source) => {
  try {
    const found = await cache.find(from, { kid, alg: 'ES256' });
    return typeof found === 'string' ? found : found.kid;
  } catch (error) {
    return (error as { code: string }).code;
  }
};

describe('a key set', () => {
  it('that is fetched is waited for without a turn, and that of before is not', async () => {
    const waits: string[] = [];
    const ask = (kid: string) =>
      cache.find(source, { kid, alg: 'ES256' }, (wait) => {
        waits.push(kid);
        return wait();
      });
    await ask('a');
    await ask('a');
    expect(waits).toEqual(['a']);
  });

  it('is fetched once while it is fresh, and again afterwards', async () => {
    expect([await find('a'), await find('a')]).toEqual(['a', 'a']);
    clock += FRESH - 1;
    expect(await find('a')).toBe('a');
    expect(fetches).toHaveLength(1);
    clock += 1;
    published = ['b'];
    expect(await find('a')).toBe('unknown');
    expect(await find('b')).toBe('b');
    expect(fetches).toHaveLength(2);
  });

  it('is fetched once for all who want it at the same time', async () => {
    let open = () => {};
    gate = new Promise((resolve) => {
      open = resolve;
    });
    const asked = Array.from({ length: 50 }, () => find('a'));
    await new Promise((resolve) => setImmediate(resolve));
    open();
    expect(new Set(await Promise.all(asked))).toEqual(new Set(['a']));
    expect(fetches).toHaveLength(1);
  });

  it('is fetched again for an unknown key, but not more than once in 5 s', async () => {
    await find('a');
    published = ['a', 'b'];
    expect(await find('b')).toBe('temporarily_unavailable');
    clock += 4_999;
    expect(await find('b')).toBe('temporarily_unavailable');
    expect(fetches).toHaveLength(1);
    clock += 1;
    expect(await find('b')).toBe('b');
    expect(fetches).toHaveLength(2);
    const strangers = await Promise.all(Array.from({ length: 20 }, (_, index) => find(`x${index}`)));
    expect(new Set(strangers)).toEqual(new Set(['temporarily_unavailable']));
    expect(fetches).toHaveLength(2);
  });

  it('that was asked for an unknown key and lacks it is a final answer', async () => {
    expect(await find('x')).toBe('unknown');
    clock += 5_000;
    expect(await find('x')).toBe('unknown');
    expect(fetches).toHaveLength(2);
  });

  it('says how long until it is fetched again', async () => {
    await find('a');
    clock += 1_500;
    const wait = () =>
      cache.find(source, { kid: 'b', alg: 'ES256' }).catch((error: unknown) => error) as Promise<object>;
    expect(await wait()).toMatchObject({ code: 'temporarily_unavailable', retryAfterSeconds: 4 });
    published = new Error('down');
    clock += 3_500;
    expect(await wait()).toMatchObject({ code: 'temporarily_unavailable', retryAfterSeconds: 10 });
  });

  it('belongs to one trusted issuer and one address', async () => {
    await find('a');
    await find('a', { ...source, id: 'two' });
    await find('a', { ...source, uri: 'https://idp.example/other' });
    expect(fetches).toEqual([source.uri, source.uri, 'https://idp.example/other']);
  });

  it('is forgotten when others were used since, beyond the limit', async () => {
    cache = newCache(2);
    for (const id of ['one', 'two', 'one', 'three', 'one']) await find('a', { ...source, id });
    expect(fetches).toHaveLength(3);
    await find('a', { ...source, id: 'two' });
    expect(fetches).toHaveLength(4);
  });
});

describe('while the issuer does not answer', () => {
  const down = new Error('down');

  it('nothing is trusted that was never fetched, and 10 s pass between attempts', async () => {
    published = down;
    expect([await find('a'), await find('a')]).toEqual([
      'temporarily_unavailable',
      'temporarily_unavailable',
    ]);
    expect(fetches).toHaveLength(1);
    expect(failures).toEqual([down.message]);
    clock += 10_000;
    published = ['a'];
    expect(await find('a')).toBe('a');
  });

  it('each fetch is noted, with the words for the tenant, and the keys serve when that fails', async () => {
    published = new JwksError('the answer is not a JWK set');
    await find('a');
    published = down;
    clock += 10_000;
    await find('a');
    published = ['a'];
    noting = new Error('no database');
    clock += 10_000;
    expect(await find('a')).toBe('a');
    expect(notes).toEqual(['the answer is not a JWK set', 'a fault of this service', null]);
    expect(failures).toEqual(['the answer is not a JWK set', 'down', 'no database']);
  });

  it('known keys serve beyond their freshness, until a bound', async () => {
    await find('a');
    published = down;
    clock += FRESH;
    expect(await find('a')).toBe('a');
    clock += STALE - 1;
    expect(await find('a')).toBe('a');
    clock += 1;
    expect(await find('a')).toBe('temporarily_unavailable');
    clock += 24 * 3_600_000;
    expect(await find('a')).toBe('temporarily_unavailable');
  });

  it('an unknown key may be a new one, so it is not called unknown', async () => {
    await find('a');
    published = down;
    clock += 5_000;
    expect(await find('b')).toBe('temporarily_unavailable');
    expect(await find('a')).toBe('a');
    expect(fetches).toHaveLength(2);
  });

  it('its recovery is noticed, and withdrawn keys are gone', async () => {
    await find('a');
    published = down;
    clock += FRESH;
    expect(await find('a')).toBe('a');
    published = [];
    clock += 10_000;
    expect(await find('a')).toBe('unknown');
  });
});

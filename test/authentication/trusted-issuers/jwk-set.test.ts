// Which keys of other issuers are taken, and which of them a token names.
import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  algorithmsOf,
  judgeJwk,
  readJwkSet,
  selectKey,
} from '../../../src/authentication/trusted-issuers/jwk-set.ts';
import { FRESHNESS, freshnessOf } from '../../../src/authentication/trusted-issuers/jwks-lifetime.ts';

const publicOf = (pair: { publicKey: { export(options: { format: 'jwk' }): unknown } }) =>
  pair.publicKey.export({ format: 'jwk' }) as Record<string, string>;
const p256 = publicOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }));
const p384 = publicOf(generateKeyPairSync('ec', { namedCurve: 'P-384' }));
const p521 = publicOf(generateKeyPairSync('ec', { namedCurve: 'P-521' }));
const ed25519 = publicOf(generateKeyPairSync('ed25519'));
const rsa = (modulusLength: number, publicExponent = 65_537) =>
  publicOf(generateKeyPairSync('rsa', { modulusLength, publicExponent }));
const rsa2048 = rsa(2_048);

describe('a key', () => {
  it.each([
    ['P-256', p256, ['ES256']],
    ['P-384', p384, ['ES384']],
    ['P-521', p521, ['ES512']],
    ['Ed25519', ed25519, ['EdDSA', 'Ed25519']],
    ['RSA', rsa2048, ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']],
    ['RSA that says PS256', { ...rsa2048, alg: 'PS256' }, ['PS256']],
    ['Ed25519 that says EdDSA', { ...ed25519, alg: 'EdDSA' }, ['EdDSA', 'Ed25519']],
  ])('on %s is taken for its own algorithms', (_name, jwk, algorithms) => {
    const verdict = judgeJwk({ ...jwk, use: 'sig', key_ops: ['verify'], kid: 'k', x5t: 'ignored' });
    expect(verdict).toEqual({ ok: true, key: { ...jwk, use: 'sig', kid: 'k' } });
    if (verdict.ok) expect(algorithmsOf(verdict.key)).toEqual(algorithms);
  });

  it.each(['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'])(
    'with the private member %s is refused',
    (name) => {
      const verdict = judgeJwk({ ...p256, [name]: 'c2VjcmV0' });
      expect(verdict).toEqual({ ok: false, message: expect.stringContaining(`private member "${name}"`) });
      expect(JSON.stringify(verdict)).not.toContain('c2VjcmV0');
    },
  );

  it.each([
    ['no object', 'key'],
    ['nothing', null],
    ['a list', [p256]],
    ['no kind', {}],
    ['a shared secret', { kty: 'oct' }],
    ['secp256k1', { ...p256, crv: 'secp256k1' }],
    ['a curve named like a member of every object', { ...p256, crv: 'constructor' }],
    ['a curve of another kind', { ...ed25519, kty: 'EC' }],
    ['for encryption', { ...p256, use: 'enc' }],
    ['for signing only', { ...p256, key_ops: ['sign'] }],
    ['without y', { ...p256, y: undefined }],
    ['with x that is no base64url', { ...p256, x: 'a+b' }],
    ['with x that is no text', { ...p256, x: 7 }],
    ['with an endless kid', { ...p256, kid: 'k'.repeat(3_000) }],
    ['with a kid that no database keeps', { ...p256, kid: 'k\u0000' }],
    ['with an alg of another kind', { ...p256, alg: 'RS256' }],
    ['with alg none', { ...p256, alg: 'none' }],
    ['with a symmetric alg', { ...rsa2048, alg: 'HS256' }],
    ['RSA with 1024 bits', rsa(1_024)],
    ['RSA with more than 8192 bits', { ...rsa2048, n: Buffer.alloc(1_025, 0xff).toString('base64url') }],
    [
      'RSA with 2048 bits after a zero byte',
      { ...rsa2048, n: Buffer.from([0, ...Buffer.alloc(255, 0xff)]).toString('base64url') },
    ],
    [
      'RSA with 800 bits after a hundred and fifty-six zero bytes',
      {
        ...rsa2048,
        n: Buffer.from([...Buffer.alloc(157), ...Buffer.alloc(100, 0xff)]).toString('base64url'),
      },
    ],
    ['RSA with a zero byte before the exponent', { ...rsa2048, e: 'AAEAAQ' }],
    ['RSA with the exponent 1', { ...rsa2048, e: 'AQ' }],
    ['RSA with an even exponent', { ...rsa2048, e: 'BA' }],
    ['RSA with a huge exponent', { ...rsa2048, e: Buffer.alloc(200, 0xff).toString('base64url') }],
  ])('that is %s is refused', (_name, jwk) => {
    expect(judgeJwk(jwk).ok).toBe(false);
  });
});

describe('a key of a library that writes its numbers otherwise', () => {
  const bytesOf = (text: string | undefined) => Buffer.from(text ?? '', 'base64url');

  it.each([1, 3])('is the same key with %d zero bytes before the modulus', (zeros) => {
    const n = Buffer.concat([Buffer.alloc(zeros), bytesOf(rsa2048.n)]).toString('base64url');
    expect(judgeJwk({ ...rsa2048, n })).toEqual({ ok: true, key: rsa2048 });
  });

  it('is the same key without the leading zeros of a coordinate', () => {
    // A point of P-256 whose x begins with a zero byte, found by trial.
    let point = p256;
    while (bytesOf(point.x)[0] !== 0) point = publicOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }));
    const x = bytesOf(point.x).subarray(1).toString('base64url');
    expect(judgeJwk({ ...point, x })).toEqual({ ok: true, key: point });
  });

  it('has no modulus of zero bytes alone', () => {
    expect(judgeJwk({ ...rsa2048, n: Buffer.alloc(256).toString('base64url') }).ok).toBe(false);
  });
});

describe('a set', () => {
  it('is its usable keys; others are passed over', () => {
    expect(
      readJwkSet({ keys: [p256, { kty: 'oct', k: 'AA' }, 'x', { ...p384, use: 'enc' }, ed25519] }),
    ).toEqual([p256, ed25519]);
    expect(readJwkSet({ keys: [] })).toEqual([]);
  });

  it.each([[undefined], [null], [[]], ['keys'], [{}], [{ keys: {} }], [{ keys: Array(101).fill(p256) }]])(
    'is not %j',
    (value) => {
      expect(readJwkSet(value)).toBeUndefined();
    },
  );

  it('gives the key with the kid of the token, for its algorithm only', () => {
    const keys =
      readJwkSet({ keys: [{ ...p256, kid: 'a' }, { ...rsa2048, kid: 'b' }, { ...ed25519 }] }) ?? [];
    const [first, second, third] = keys;
    expect(selectKey(keys, { kid: 'a', alg: 'ES256' })).toBe(first);
    expect(selectKey(keys, { kid: 'b', alg: 'RS512' })).toBe(second);
    expect(selectKey(keys, { alg: 'EdDSA' })).toBe(third);
    expect(selectKey(keys, { kid: 'a', alg: 'RS256' })).toBe('unknown');
    expect(selectKey(keys, { kid: 'c', alg: 'ES256' })).toBe('unknown');
    expect(selectKey(keys, { kid: 'b', alg: 'HS256' })).toBe('unknown');
    expect(selectKey([...keys, ...keys], { kid: 'a', alg: 'ES256' })).toBe(first);
  });
});

describe('a key that is listed repeatedly', () => {
  const other = publicOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }));
  const select = (keys: unknown[], kid?: string) =>
    selectKey(readJwkSet({ keys }) ?? [], kid === undefined ? { alg: 'ES256' } : { kid, alg: 'ES256' });

  it('is one key, with the same members, with others, and under several kids', () => {
    const named = { ...p256, kid: 'a' };
    expect(select([named, named], 'a')).toEqual(named);
    expect(select([named, { ...named, alg: 'ES256', use: 'sig' }], 'a')).toEqual(named);
    expect(select([named, { ...p256, kid: 'b' }])).toEqual(named);
  });

  it('is ambiguous beside another one of its kid, or without a kid', () => {
    expect(
      select(
        [
          { ...p256, kid: 'a' },
          { ...other, kid: 'a' },
        ],
        'a',
      ),
    ).toBe('ambiguous');
    expect(select([p256, p256, other])).toBe('ambiguous');
  });
});

describe('the freshness of an answer', () => {
  it.each([
    [{}, FRESHNESS.usual],
    [{ 'cache-control': 'public, max-age=300' }, 300_000],
    [{ 'cache-control': 'Max-Age="300"' }, 300_000],
    [{ 'cache-control': 'max-age=300', age: '100' }, 200_000],
    [{ 'cache-control': 'max-age=300', age: '100000' }, FRESHNESS.least],
    [{ 'cache-control': 'max-age=0' }, FRESHNESS.least],
    [{ 'cache-control': 'max-age=9999999999' }, FRESHNESS.most],
    [{ 'cache-control': 'no-store, max-age=3600' }, FRESHNESS.least],
    [{ 'cache-control': ['public', 'no-cache'] }, FRESHNESS.least],
    [{ 'cache-control': 'max-age=-5' }, FRESHNESS.usual],
    [{ 'cache-control': 'max-age=1e9' }, FRESHNESS.usual],
    [{ 'cache-control': 'max-age=99999999999999999999' }, FRESHNESS.usual],
    [{ 'cache-control': 's-maxage=5' }, FRESHNESS.usual],
  ])('with %j is %i ms', (headers, expected) => {
    expect(freshnessOf(headers)).toBe(expected);
  });
});

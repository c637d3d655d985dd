import { describe, expect, it } from 'vitest';
import { buildKeyProofPayload } from '../../../packages/agent/src/payloads.ts';
import { registerKeyBody } from '../../../src/identity/keys/key.schemas.ts';
import {
  buildSunsetHeaders,
  mayAuthenticate,
  mayDeprecate,
  resolveSunset,
  stateAt,
} from '../../../src/identity/keys/key.ts';

const now = new Date('2026-03-01T12:00:00.000Z');
const fromNow = (milliseconds: number) => new Date(now.getTime() + milliseconds);

describe('a key', () => {
  it.each([
    ['active', null, 'active', true],
    ['active', fromNow(-1), 'active', true],
    ['deprecated', fromNow(1), 'deprecated', true],
    ['deprecated', fromNow(0), 'revoked', false],
    ['deprecated', fromNow(-1), 'revoked', false],
    ['revoked', null, 'revoked', false],
    ['revoked', fromNow(1000), 'revoked', false],
  ] as const)('that is %s with the sunset %s is %s now', (state, sunsetAt, effective, usable) => {
    expect(stateAt({ state, sunsetAt }, now)).toBe(effective);
    expect(mayAuthenticate({ state, sunsetAt }, now)).toBe(usable);
  });

  it('can be deprecated, and deprecated again, until it is revoked', () => {
    expect([mayDeprecate('active'), mayDeprecate('deprecated'), mayDeprecate('revoked')]).toEqual([
      true,
      true,
      false,
    ]);
  });
});

describe('the sunset of a deprecation', () => {
  it.each([
    [{}, fromNow(7 * 86_400_000)],
    [{ sunsetAfterSeconds: 1 }, fromNow(1000)],
    [{ sunsetAfterSeconds: 3600 }, fromNow(3_600_000)],
    [{ sunsetAt: fromNow(1000) }, fromNow(1000)],
  ])('asked for as %j is %s', (request, sunsetAt) => {
    expect(resolveSunset(request, now)).toEqual({ sunsetAt });
  });

  it.each([
    [{ sunsetAfterSeconds: 0 }, 'sunset_after_seconds'],
    [{ sunsetAfterSeconds: -5 }, 'sunset_after_seconds'],
    [{ sunsetAfterSeconds: Number.NaN }, 'sunset_after_seconds'],
    [{ sunsetAfterSeconds: 1e15 }, 'sunset_after_seconds'],
    [{ sunsetAt: fromNow(999) }, 'sunset_at'],
    [{ sunsetAt: new Date(Number.NaN) }, 'sunset_at'],
    [{ sunsetAt: fromNow(5000), sunsetAfterSeconds: 5 }, 'sunset_at'],
  ])('asked for as %j is refused', (request, field) => {
    expect(resolveSunset(request, now)).toEqual({ problem: { field, message: expect.any(String) } });
  });
});

describe('the warning headers', () => {
  const key = { state: 'deprecated', sunsetAt: fromNow(86_400_000), fingerprint: 'ab'.repeat(32) } as const;

  it('tell when a deprecated key ends', () => {
    expect(buildSunsetHeaders({ ...key, deprecatedAt: now })).toEqual({
      warning: `299 - "Key ${'ab'.repeat(32)} is deprecated and stops working at 2026-03-02T12:00:00.000Z"`,
      sunset: 'Mon, 02 Mar 2026 12:00:00 GMT',
      deprecation: '@1772366400',
    });
    expect(buildSunsetHeaders(key)).not.toHaveProperty('deprecation');
  });

  it('are absent for any other key', () => {
    expect(buildSunsetHeaders({ ...key, state: 'active' })).toEqual({});
    expect(buildSunsetHeaders({ ...key, state: 'revoked' })).toEqual({});
  });
});

describe('the key proof', () => {
  it('is four lines with nothing after the last', () => {
    const bytes = buildKeyProofPayload({ tenantId: 't', agentId: 'a', fingerprint: 'f' });
    expect(new TextDecoder().decode(bytes)).toBe('SERVICE-KEY-PROOF-V1\nt\na\nf');
  });
});

describe('the algorithm of a key', () => {
  it.each([
    ['EdDSA', '; did you mean ed25519?'],
    ['ES256K', '; did you mean es256k?'],
    ['rsa', ''],
  ])('%s is refused with what was meant', (algorithm, meant) => {
    const { error } = registerKeyBody.safeParse({ algorithm, public_key: 'x' });
    expect(error?.issues[0]?.message).toBe(`must be one of: ed25519, es256, es256k, bip340${meant}`);
  });
});

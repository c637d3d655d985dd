// The order of checks, without any database: of several things that are wrong, the first in the protocol's order is
// told.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Attempt,
  type Challenge,
  type Holder,
  judgeAttempt,
  judgeRequest,
  payloadOf,
} from '../../../src/authentication/challenges/challenge.ts';

const NOW = new Date('2026-01-01T00:00:00.000Z');
const later = (seconds: number) => new Date(NOW.getTime() + seconds * 1000);

const challenge: Challenge = {
  id: '0192f0c1-2345-7000-8000-000000000001',
  keyFingerprint: 'ab'.repeat(32),
  algorithm: 'ed25519',
  nonce: '01'.repeat(32),
  audience: 'https://issuer.example',
  scopes: ['openid', 'vault:read'],
  resource: 'https://two.example',
  createdAt: later(-10),
  expiresAt: later(290),
  consumedAt: null,
  isExpired: false,
};

const holder: Holder = {
  key: {
    id: '0192f0c1-2345-7000-8000-000000000002',
    algorithm: 'ed25519',
    publicKey: new Uint8Array(32),
    fingerprint: 'ab'.repeat(32),
    state: 'active',
    sunsetAt: null,
    deprecatedAt: null,
    isUseNoted: false,
    isVerified: false,
  },
  agent: {
    id: '0192f0c1-2345-7000-8000-000000000003',
    name: 'Robot',
    capabilities: [],
    status: 'active',
    isDeleted: false,
    audience: null,
    audiences: ['https://one.example', 'https://two.example'],
    scopes: ['openid', 'vault:read'],
    dpopBoundAccessTokens: false,
  },
};

const tenant = { audience: 'https://tenant.example' };
const attempt: Attempt = { tenant, now: NOW, challenge, holder, algorithm: 'ed25519' };
type Fault = (attempt: Attempt) => Attempt;
const ofKey =
  (changes: Partial<Holder['key']>): Fault =>
  (subject) => ({
    ...subject,
    holder: subject.holder && { ...subject.holder, key: { ...subject.holder.key, ...changes } },
  });
const ofAgent =
  (changes: Partial<Holder['agent']>): Fault =>
  (subject) => ({
    ...subject,
    holder: subject.holder && { ...subject.holder, agent: { ...subject.holder.agent, ...changes } },
  });
const ofChallenge =
  (changes: Partial<Challenge>): Fault =>
  (subject) => ({
    ...subject,
    challenge: { ...subject.challenge, ...changes },
  });

/** In the order in which they are told. */
const FAULTS: readonly [string, string, Fault][] = [
  ['the challenge was used', 'challenge_used', ofChallenge({ consumedAt: later(-1) })],
  ['the challenge has expired', 'challenge_expired', ofChallenge({ expiresAt: later(-1) })],
  ['its end is written down', 'challenge_expired', ofChallenge({ isExpired: true })],
  [
    'the tenant was suspended after the challenge was made',
    'challenge_expired',
    (subject) => ({ ...subject, tenant: { ...subject.tenant, resumedAt: subject.challenge.createdAt } }),
  ],
  [
    "the algorithm is not the challenge's",
    'invalid_grant',
    (subject) => ({ ...subject, algorithm: 'es256' }),
  ],
  ['the key is gone', 'key_not_found', (subject) => ({ ...subject, holder: null })],
  ['the key is revoked', 'key_revoked', ofKey({ state: 'revoked' })],
  ['the agent is deleted', 'key_not_found', ofAgent({ isDeleted: true })],
  ['the agent is suspended', 'policy_denied', ofAgent({ status: 'suspended' })],
  ["the agent's scopes were narrowed", 'invalid_scope', ofAgent({ scopes: ['openid'] })],
  ["the agent's audiences were narrowed", 'invalid_target', ofAgent({ audiences: ['https://one.example'] })],
];

const codeOf = (subject: Attempt) => {
  const judgement = judgeAttempt(subject);
  return 'refusal' in judgement ? judgement.refusal.code : 'granted';
};

describe('judging a verification', () => {
  it('finds nothing wrong with a fresh challenge', () => {
    expect(judgeAttempt(attempt)).toEqual({ holder, audience: 'https://two.example' });
  });

  it.each(FAULTS)('tells when %s: %s', (_, code, fault) => {
    expect(codeOf(fault(attempt))).toBe(code);
  });

  it('tells the first fault in the order, whatever else is wrong', () => {
    fc.assert(
      fc.property(
        fc.subarray(
          FAULTS.map((_, index) => index),
          { minLength: 1 },
        ),
        (chosen) => {
          const broken = [...chosen]
            .reverse()
            .reduce((subject, index) => FAULTS[index]?.[2](subject) ?? subject, attempt);
          const first = FAULTS[Math.min(...chosen)];
          expect(codeOf(broken)).toBe(first?.[1]);
        },
      ),
    );
  });

  it.each([
    ['at the instant of its end', 0, 'challenge_expired'],
    ['a millisecond before its end', 0.001, 'granted'],
  ])('treats a challenge %s as %s', (_, seconds, expected) => {
    expect(codeOf(ofChallenge({ expiresAt: later(seconds) })(attempt))).toBe(expected);
  });

  it.each([
    ['before its sunset', 1, 'granted'],
    ['at its sunset', 0, 'key_revoked'],
    ['after its sunset', -1, 'key_revoked'],
  ])('lets a deprecated key authenticate until its sunset: %s', (_, seconds, expected) => {
    expect(codeOf(ofKey({ state: 'deprecated', sunsetAt: later(seconds) })(attempt))).toBe(expected);
  });
});

describe('judging a request for a challenge', () => {
  const judge = (scope: string, subject: Holder | null = holder, resource?: string) => {
    const judgement = judgeRequest({ now: NOW, holder: subject, scope, tenant, resource });
    return 'refusal' in judgement ? judgement.refusal.code : judgement.scopes;
  };

  it.each([
    ['openid', ['openid']],
    ['vault:read openid', ['openid', 'vault:read']],
    ['  openid   openid ', ['openid']],
  ])('grants "%s" as %j', (scope, granted) => {
    expect(judge(scope)).toEqual(granted);
  });

  it.each([
    ['empty', ''],
    ['only spaces', '   '],
    ['malformed', 'openid "x"'],
    ['divided by a tab', 'openid\tvault:read'],
    ['outside the allowlist', 'openid agents:write'],
    ["outside the agent's own", 'openid email'],
  ])('refuses a scope that is %s', (_, scope) => {
    expect(judge(scope)).toBe('invalid_scope');
  });

  it.each([
    ["the tenant's audience, which is the agent's too", 'https://tenant.example', ['openid']],
    ['a further audience', 'https://two.example', ['openid']],
    ['none', undefined, ['openid']],
    ['an audience of nobody', 'https://three.example', 'invalid_target'],
    ['another spelling of an audience', 'https://two.example/', 'invalid_target'],
    ['a relative address', '/two', 'invalid_target'],
    ['nothing but a name', 'two.example', 'invalid_target'],
    ['an empty text', '', 'invalid_target'],
  ])('judges a resource that is %s', (_, resource, expected) => {
    expect(judge('openid', holder, resource)).toEqual(expected);
  });

  it("does not know the tenant's audience where the agent has its own", () => {
    const own = { ...holder, agent: { ...holder.agent, audience: 'https://own.example' } };
    expect(judge('openid', own, 'https://own.example')).toEqual(['openid']);
    expect(judge('openid', own, tenant.audience)).toBe('invalid_target');
  });

  it('names the key before the agent, the agent before the scope, and the scope before the resource', () => {
    const suspended = { ...holder, agent: { ...holder.agent, status: 'suspended' as const } };
    const revoked = { ...suspended, key: { ...holder.key, state: 'revoked' as const } };
    expect(judge('', null)).toBe('key_not_found');
    expect(judge('', revoked)).toBe('key_revoked');
    expect(judge('', suspended)).toBe('policy_denied');
    expect(judge('', holder, 'nowhere')).toBe('invalid_scope');
  });
});

describe('the payload of a challenge', () => {
  it('is its nine lines', () => {
    expect(new TextDecoder().decode(payloadOf(challenge)).split('\n')).toEqual([
      'SERVICE-CHALLENGE-V1',
      `nonce:${'01'.repeat(32)}`,
      'timestamp:1767225590',
      'expires_at:1767225890',
      'audience:https://issuer.example',
      'client_id:service-agent',
      // printf 'openid vault:read' | sha256sum
      'scope_hash:8f6581a39a0563f9587750d2fd183bc2cc30545bd8cffb6b632702b84b456a36',
      `key_fingerprint:${'ab'.repeat(32)}`,
      'algorithm:ed25519',
    ]);
  });
});

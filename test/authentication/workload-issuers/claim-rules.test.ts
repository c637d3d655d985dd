// Rules on claims: what a pattern fits, which patterns are refused, and which claim a name means.
import { describe, expect, it } from 'vitest';
import {
  findPatternFault,
  findRule,
  fits,
  readClaim,
} from '../../../src/authentication/workload-issuers/claim-rules.ts';
import {
  isWorkloadIssuer,
  narrows,
  needsGrantor,
  trustDomainOf,
} from '../../../src/authentication/workload-issuers/workload-issuer.ts';

describe('a pattern', () => {
  it.each([
    ['repo:acme/shop:ref:refs/heads/main', 'repo:acme/shop:ref:refs/heads/main'],
    ['repo:acme/*:ref:refs/heads/main', 'repo:acme/shop:ref:refs/heads/main'],
    ['repo:acme/shop-*:ref:refs/heads/main', 'repo:acme/shop-api:ref:refs/heads/main'],
    ['repo:*/shop:environment:*-eu', 'repo:acme/shop:environment:prod-eu'],
    ['repo:acme@65/shop@74:environment:production', 'repo:acme@65/shop@74:environment:production'],
    ['repo:acme@*/shop@*:environment:production', 'repo:acme@65/shop@74:environment:production'],
    ['spiffe://example.org/ns/*/sa/buyer', 'spiffe://example.org/ns/shop/sa/buyer'],
    [
      'acme/shop/.github/workflows/*.yml@refs/heads/main',
      'acme/shop/.github/workflows/a.yml@refs/heads/main',
    ],
  ])('%s fits %s', (pattern, text) => expect(fits(pattern, text)).toBe(true));

  it.each([
    ['repo:acme/shop', 'repo:acme/shop2'],
    ['repo:acme/shop:environment:production', 'repo:acme@65/shop@74:environment:production'],
    ['repo:acme/shop', 'xrepo:acme/shop'],
    ['repo:acme/shop', 'REPO:acme/shop'],
    // `*` is a part of one segment, and never empty.
    ['repo:acme/*:ref:refs/heads/main', 'repo:acme/shop:environment:x:ref:refs/heads/main'],
    ['repo:acme/*', 'repo:acme/shop:pull_request'],
    ['repo:acme/*', 'repo:acme/'],
    ['repo:acme/shop-*', 'repo:acme/shop-'],
    ['repo:acme/*', 'repo:acme/a/b'],
    ['repo:acme/*', 'repo:acme/a@b'],
    ['spiffe://example.org/ns/*', 'spiffe://example.org/ns/shop/sa/buyer'],
    ['spiffe://example.org/*', 'spiffe://example.org.evil/x'],
    ['a/b*b', 'a/b'],
    ['repo.acme/shop', 'repoxacme/shop'],
    ['a:b', 'a/b'],
  ])('%s does not fit %s', (pattern, text) => expect(fits(pattern, text)).toBe(false));

  it.each(['*', '*/*', '*:*', 'x*', 'a*b*c/d', '/', ':*'])('%s is refused', (pattern) =>
    expect(findPatternFault(pattern)).toBeDefined(),
  );

  it.each(['a', 'a/*', '*/a', 'repo:acme/*:ref:refs/heads/main'])('%s is good', (pattern) =>
    expect(findPatternFault(pattern)).toBeUndefined(),
  );
});

describe('a claim', () => {
  const claims = {
    sub: 'x',
    'kubernetes.io': { namespace: 'shop', 'a/b': '1' },
    list: ['a'],
  };
  it.each([
    ['sub', 'x'],
    ['/sub', 'x'],
    ['/kubernetes.io/namespace', 'shop'],
    ['/kubernetes.io/a~1b', '1'],
    ['kubernetes.io', claims['kubernetes.io']],
    ['/list/0', undefined],
    ['constructor', undefined],
    ['__proto__', undefined],
    ['/kubernetes.io/constructor/name', undefined],
  ])('%s is read', (name, value) => expect(readClaim(claims, name)).toEqual(value));
});

describe('rules', () => {
  const rules = [
    { agentId: 'one', claims: { sub: 'repo:acme/shop', environment: 'production' } },
    { agentId: 'two', claims: { sub: 'repo:acme/*' } },
  ];
  it('need all of their claims, and the first that fits decides', () => {
    const agentOf = (claims: object) => findRule(rules, { ...claims })?.agentId;
    expect(agentOf({ sub: 'repo:acme/shop', environment: 'production' })).toBe('one');
    expect(agentOf({ sub: 'repo:acme/shop', environment: 'test' })).toBe('two');
    expect(agentOf({ sub: 'repo:other/shop', environment: 'production' })).toBeUndefined();
    expect(agentOf({ sub: ['repo:acme/shop'] })).toBeUndefined();
    expect(agentOf({})).toBeUndefined();
  });

  it('need a grantor for each change, and end tokens where one is taken away or comes first', () => {
    const trust = { jwksUri: 'https://a.example', jwks: null, audiences: ['a'] };
    const [one, two] = rules;
    if (one === undefined || two === undefined) throw new Error('no rules');
    const judge = (before: typeof rules, after: typeof rules) =>
      [needsGrantor, narrows].map((rule) => rule({ ...trust, rules: before }, { ...trust, rules: after }));
    expect(judge([one, two], [one, { ...two }])).toEqual([false, false]);
    expect(judge([one, two], [one])).toEqual([true, true]);
    expect(judge([one, two], [])).toEqual([true, true]);
    expect(judge([one, two], [two])).toEqual([true, true]);
    expect(judge([one], [one, two])).toEqual([true, false]);
    expect(judge([one, two], [two, one])).toEqual([true, true]);
  });
});

describe('a SPIFFE ID', () => {
  it.each([
    ['spiffe://example.org/shop/buyer', 'spiffe://example.org'],
    ['spiffe://example.org', undefined],
    ['spiffe://example.org/', undefined],
    ['spiffe://example.org/a//b', undefined],
    ['spiffe://example.org/a/../b', undefined],
    ['spiffe://example.org/a/', undefined],
    ['spiffe://EXAMPLE.org/a', undefined],
    ['spiffe://example.org:8443/a', undefined],
    ['spiffe://user@example.org/a', undefined],
    ['spiffe://example.org/a?b', undefined],
    ['https://example.org/a', undefined],
    [7, undefined],
  ])('%s is of %s', (sub, domain) => expect(trustDomainOf(sub)).toBe(domain));

  it.each([
    ['spiffe://example.org', true],
    ['spiffe://example.org/a', false],
    ['spiffe://', false],
    ['https://a.example', true],
    ['http://a.example', false],
  ])('the issuer %s: %s', (issuer, isGood) => expect(isWorkloadIssuer(issuer)).toBe(isGood));
});

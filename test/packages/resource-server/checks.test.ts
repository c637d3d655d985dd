// The table of what a resource server must check: for each row a token that this row alone refuses.
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type Check,
  type Expectations,
  findFault,
  PERMISSION,
  type Rules,
  VALIDITY,
} from '../../../packages/resource-server/src/checks.ts';
import type { SignedToken } from '../../../packages/resource-server/src/claims.ts';
import { requireAgent } from '../../../packages/resource-server/src/express.ts';
import { createGuard, type GuardOptions } from '../../../packages/resource-server/src/guard.ts';
import { createTestIssuer, type TestIssuer } from '../../../packages/resource-server/src/testing.ts';
import { bearer, outcomeOf, requestWith } from './requests.ts';

const NOW = 1_800_000_000;
const AGENT = { name: 'Robot', capabilities: ['orders:read'] };
const ACT = { sub: 'agent-1', agent: AGENT };

/** A good token and the request that it is good for. */
const GOOD: SignedToken = {
  header: { alg: 'ES256', typ: 'at+jwt', kid: 'k' },
  claims: {
    iss: 'https://issuer.test',
    sub: 'agent-1',
    aud: 'https://api.test',
    exp: NOW + 300,
    iat: NOW,
    jti: 'token-1',
    scope: 'openid vault:read',
    client_id: 'service-agent',
    subject_type: 'agent',
    agent: AGENT,
    tenant_id: 'tenant-1',
  },
};
const EXPECTED: Expectations = {
  issuer: 'https://issuer.test',
  audiences: ['https://api.test', 'https://other.test'],
  tenantId: 'tenant-1',
  now: NOW,
  clockToleranceSeconds: 0,
  scheme: 'bearer',
  requiresProof: false,
  rules: {},
};

type Case = {
  readonly row: string;
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
  readonly expected?: Partial<Expectations>;
};
const rules = (given: Rules) => ({ rules: given });
const bound = { cnf: { jkt: 'thumbprint' } };
const deep = [1, 2, 3, 4, 5].reduce<object>((act, level) => ({ sub: `agent-${level}`, act }), {
  sub: 'agent-0',
});

const FORGED: readonly Case[] = [
  { row: 'typ', header: { typ: 'JWT' } },
  { row: 'typ', header: { typ: 'webhook+jwt' } },
  { row: 'typ', header: { typ: undefined } },
  { row: 'iss', claims: { iss: 'https://issuer.test/' } },
  { row: 'iss', claims: { iss: undefined } },
  { row: 'aud', claims: { aud: 'https://elsewhere.test' } },
  { row: 'aud', claims: { aud: ['https://elsewhere.test'] } },
  { row: 'aud', claims: { aud: undefined } },
  { row: 'exp', claims: { exp: 'tomorrow' } },
  { row: 'exp', claims: { exp: undefined } },
  { row: 'exp in the future', claims: { exp: NOW } },
  { row: 'exp in the future', claims: { exp: NOW - 10 }, expected: { clockToleranceSeconds: 10 } },
  { row: 'nbf', claims: { nbf: NOW + 1 } },
  { row: 'nbf', claims: { nbf: 'now' } },
  { row: 'iat', claims: { iat: undefined } },
  { row: 'jti', claims: { jti: '' } },
  { row: 'sub', claims: { sub: undefined } },
  { row: 'client_id', claims: { client_id: 7 } },
  { row: 'tenant_id', claims: { tenant_id: 'tenant-2' } },
  { row: 'tenant_id', claims: { tenant_id: undefined } },
  { row: 'tenant_id', claims: { tenant_id: undefined }, expected: { tenantId: undefined } },
  { row: 'agent', claims: { agent: 'Robot' } },
  { row: 'agent', claims: { agent: { name: 'Robot', capabilities: [7] } } },
  { row: 'act form', claims: { act: 'agent-1' }, expected: rules({ delegated: 'accept' }) },
  { row: 'act form', claims: { act: { sub: '' } }, expected: rules({ delegated: 'accept' }) },
  { row: 'act form', claims: { act: deep }, expected: rules({ delegated: 'accept' }) },
  { row: 'cnf form', claims: { cnf: { 'x5t#S256': 'other' } }, expected: { scheme: 'dpop' } },
  { row: 'cnf.jkt as bearer', claims: bound },
  { row: 'cnf.jkt absent', expected: { scheme: 'dpop' } },
  { row: 'cnf.jkt required', expected: { requiresProof: true } },
  { row: 'subject_type', claims: { subject_type: 'human' } },
  { row: 'subject_type', claims: { subject_type: undefined } },
  { row: 'subject_type', expected: rules({ subjectType: 'human' }) },
  { row: 'scope', expected: rules({ scope: 'wallet:sign' }) },
  { row: 'scope', expected: rules({ scope: ['openid', 'wallet:sign'] }) },
  { row: 'scope', expected: rules({ scope: 'openid wallet:sign' }) },
  { row: 'scope', claims: { scope: undefined }, expected: rules({ scope: 'openid' }) },
  { row: 'scope', claims: { scope: 'vault:readonly' }, expected: rules({ scope: 'vault:read' }) },
  { row: 'capabilities', expected: rules({ capability: ['orders:read', 'orders:write'] }) },
  { row: 'capabilities', claims: { agent: undefined }, expected: rules({ capability: 'orders:read' }) },
  {
    row: 'capabilities',
    // The capabilities of the user's side are not the agent's that acts.
    claims: { act: { sub: 'agent-1' } },
    expected: rules({ capability: 'orders:read', delegated: 'accept' }),
  },
  { row: 'act', claims: { act: ACT } },
  { row: 'act', expected: rules({ delegated: 'require' }) },
  { row: 'act', expected: rules({ delegated: () => true }) },
  { row: 'act', claims: { act: ACT }, expected: rules({ delegated: ({ subject }) => subject === 'ada' }) },
  { row: 'act', claims: { act: ACT }, expected: rules({ delegated: ({ actor }) => actor === 'agent-2' }) },
];

const ROWS = [...VALIDITY, ...PERMISSION];
const tokenOf = ({ claims = {}, header = {} }: Case): SignedToken => ({
  header: { ...GOOD.header, ...header },
  claims: { ...GOOD.claims, ...claims },
});
const judge = (checks: readonly Check[], forged: Case) =>
  findFault(checks, tokenOf(forged), { ...EXPECTED, ...forged.expected });

describe('the table', () => {
  it('has a case for each row, and a row for each case', () => {
    expect(new Set(FORGED.map(({ row }) => row))).toEqual(new Set(ROWS.map(({ claim }) => claim)));
  });

  it.each(FORGED.map((forged, n) => [`${n} ${forged.row}`, forged] as const))(
    'refuses %s, and would not without this row',
    (_, forged) => {
      const others = ROWS.filter(({ claim }) => claim !== forged.row);
      expect(judge(ROWS, forged)).toBeDefined();
      expect(judge(others, forged)).toBeUndefined();
    },
  );

  it.each<Omit<Case, 'row'>>([
    {},
    { header: { typ: 'application/AT+JWT' } },
    { claims: { aud: ['https://elsewhere.test', 'https://other.test'] } },
    { claims: { exp: NOW - 9 }, expected: { clockToleranceSeconds: 10 } },
    { claims: { agent: undefined } },
    { claims: { nbf: NOW } },
    { claims: bound, expected: { scheme: 'dpop', requiresProof: true } },
    { claims: { subject_type: 'human' }, expected: rules({ subjectType: 'human' }) },
    { claims: { subject_type: 'service' }, expected: rules({ subjectType: 'any' }) },
    { expected: rules({ scope: ['openid', 'vault:read'], capability: 'orders:read' }) },
    { expected: rules({ scope: 'vault:read openid' }) },
    { claims: { act: ACT }, expected: rules({ delegated: 'accept', capability: 'orders:read' }) },
    { claims: { act: { ...ACT, act: { sub: 'agent-0' } } }, expected: rules({ delegated: 'require' }) },
    {
      claims: { sub: 'ada', act: ACT },
      expected: rules({ delegated: ({ subject, actor }) => subject === 'ada' && actor === 'agent-1' }),
    },
    { claims: { tenant_id: 'tenant-2' }, expected: { tenantId: undefined } },
  ])('accepts a good token: %j', (good) => {
    expect(judge(ROWS, { row: '', ...good })).toBeUndefined();
  });
});

describe('a guard', () => {
  let issuer: TestIssuer;
  beforeAll(async () => {
    issuer = await createTestIssuer();
  });

  it('answers 401 for what is not valid, and 403 for what is not permitted', async () => {
    const guard = createGuard(issuer.guardOptions);
    const outcome = async (claims: Record<string, unknown>, given?: Rules) =>
      outcomeOf(guard, bearer(await issuer.createToken(claims)), given);
    expect(await outcome({})).toBe('accepted');
    expect(await outcome({ aud: 'https://elsewhere.test' })).toBe('401 invalid_token');
    expect(await outcome({ exp: 1 })).toBe('401 token_expired');
    expect(await outcome({ subject_type: 'human' })).toBe('403 insufficient_scope');
    expect(await outcome({}, { scope: 'vault:read' })).toBe('403 insufficient_scope');
  });

  it('judges permissions of a delegated token by the agent that acts, and shows both parties', async () => {
    const guard = createGuard(issuer.guardOptions);
    const token = await issuer.createDelegatedToken({ agentId: 'a', userId: 'u', scope: 'vault:read' });
    const decision = await guard.authorize(bearer(token), { delegated: 'accept', scope: 'vault:read' });
    expect(decision.agent).toMatchObject({
      subject: 'u',
      actor: 'a',
      name: 'Test agent',
      scopes: ['vault:read'],
      delegation: { user: { iss: 'https://login.test', sub: 'u' }, act: { sub: 'a' } },
    });
    expect(await outcomeOf(guard, bearer(token))).toBe('403 insufficient_scope');
  });

  it.each<[string, Record<string, string | string[]>]>([
    ['401 invalid_token', {}],
    ['401 invalid_token', { authorization: 'Bearer' }],
    ['401 invalid_token', { authorization: 'Bearer ' }],
    ['401 invalid_token', { authorization: 'Basic YTpi' }],
    ['401 invalid_token', { authorization: 'Bearer a b' }],
    ['401 invalid_token', { authorization: 'Bearer not.a.token' }],
    ['401 invalid_token', { authorization: `Bearer ${'a'.repeat(9_000)}` }],
    ['400 invalid_request', { authorization: ['Bearer a', 'Bearer b'] }],
  ])('answers %s for %j', async (expected, headers) => {
    const guard = createGuard(issuer.guardOptions);
    expect(await outcomeOf(guard, requestWith(headers))).toBe(expected);
  });

  it('is asked with no rule that there is not: a misspelt one would let everybody in', async () => {
    const guard = createGuard({ ...issuer.guardOptions, onRefused: () => undefined });
    const misspelt = { scopes: 'vault:read' } as Rules;
    expect(() => requireAgent(guard, misspelt)).toThrow(/scopes is no rule; there are scope, /);
    expect(await outcomeOf(guard, bearer(await issuer.createToken()), misspelt)).toMatch(/^503/);
  });

  it.each([
    [{ audiences: ['https://api.test'] }, /audiences is no option/],
    [{ dpop: { require: true } }, /require is no option of dpop/],
    [{ introspection: { clientId: 'a', clientSecret: 'b', mode: 'always' } }, /mode is no option/],
    [{ issuer: 'issuer' }, /issuer/],
    [{ issuer: 'https://issuer.test/' }, /issuer/],
    [{ audience: [] }, /audience/],
    [{ audience: ['https://api.test', ''] }, /audience/],
    [{ audience: 'https://api.test/"' }, /audience/],
    [{ audience: 'orders' }, /resource/],
    [{ clockToleranceSeconds: 61 }, /clockToleranceSeconds/],
    [{ clockToleranceSeconds: Number.NaN }, /clockToleranceSeconds/],
  ])('is not made with %j', (options, message) => {
    expect(() => createGuard({ ...issuer.guardOptions, ...options } as GuardOptions)).toThrow(message);
  });
});

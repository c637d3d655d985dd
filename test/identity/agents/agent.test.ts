// The rules of agents without any database: registration, audience, and the limits on what a request may say.
import { describe, expect, it } from 'vitest';
import { createAgentBody, updateAgentBody } from '../../../src/identity/agents/agent.schemas.ts';
import { assessRegistration, resolveAudience } from '../../../src/identity/agents/agent.ts';
import { AGENT_SCOPES } from '../../../src/platform/scopes.ts';

describe('a correctly registered agent', () => {
  const agent = { status: 'active', scopes: ['openid'] } as const;
  const evidence = { verified: true, audited: true };

  it('is active, verified, scoped and audited', () => {
    expect(assessRegistration(agent, evidence)).toEqual({
      complete: true,
      active: true,
      verified: true,
      scoped: true,
      audited: true,
    });
  });

  it.each([
    ['active', { ...agent, status: 'suspended' as const }, evidence],
    ['verified', agent, { ...evidence, verified: false }],
    ['scoped', { ...agent, scopes: [...AGENT_SCOPES] }, evidence],
    ['scoped', { ...agent, scopes: ['openid', 'agents:write'] }, evidence],
    ['audited', agent, { ...evidence, audited: false }],
  ] as const)('is not complete when only %s is missing', (part, subject, facts) => {
    const registration = assessRegistration(subject, facts);
    expect(registration.complete).toBe(false);
    expect(
      Object.entries(registration)
        .filter(([, holds]) => !holds)
        .map(([name]) => name),
    ).toEqual(['complete', part]);
  });
});

describe("an agent's audience", () => {
  it("is its own, else the tenant's", () => {
    const tenant = { audience: 'https://tenant.example' };
    expect(resolveAudience({ audience: 'https://own.example' }, tenant)).toBe('https://own.example');
    expect(resolveAudience({ audience: null }, tenant)).toBe('https://tenant.example');
  });
});

describe('the body of a creation', () => {
  it.each([
    ['a name alone', { name: 'Robot' }],
    ['the longest name', { name: 'n'.repeat(200) }],
    ['a name of other scripts', { name: 'エージェント 🤖' }],
    ['a null description', { name: 'Robot', description: null }],
    ['no capabilities', { name: 'Robot', capabilities: [] }],
    ['fifty capabilities', { name: 'Robot', capabilities: Array.from({ length: 50 }, (_, n) => `c${n}`) }],
    ['all scopes', { name: 'Robot', scopes: [...AGENT_SCOPES] }],
    ['nested metadata', { name: 'Robot', metadata: { a: { b: [1, null, 'x'] } } }],
  ])('may have %s', (_, body) => {
    expect(createAgentBody.safeParse(body)).toMatchObject({ success: true, data: body });
  });

  it.each([
    ['no name', {}, 'name'],
    ['an empty name', { name: '' }, 'name'],
    ['a blank name', { name: ' \u00a0 ' }, 'name'],
    ['a name that is too long', { name: 'n'.repeat(201) }, 'name'],
    ['a control character in the name', { name: 'a\nb' }, 'name'],
    ['a name that is no text', { name: 7 }, 'name'],
    ['a description that is too long', { name: 'R', description: 'd'.repeat(2_001) }, 'description'],
    ['an empty owner', { name: 'R', owner: '' }, 'owner'],
    ['an owner of two lines', { name: 'R', owner: 'a\nb' }, 'owner'],
    ['an owner that is too long', { name: 'R', owner: 'o'.repeat(201) }, 'owner'],
    ['a purpose that is too long', { name: 'R', purpose: 'p'.repeat(2_001) }, 'purpose'],
    ['a capability that is no text', { name: 'R', capabilities: [1] }, 'capabilities.0'],
    ['an empty capability', { name: 'R', capabilities: ['web', ''] }, 'capabilities.1'],
    ['a repeated capability', { name: 'R', capabilities: ['web', 'web'] }, 'capabilities'],
    [
      'too many capabilities',
      { name: 'R', capabilities: Array.from({ length: 51 }, String) },
      'capabilities',
    ],
    [
      'capabilities that would not fit into a token',
      { name: 'R', capabilities: Array.from({ length: 40 }, (_, n) => `${n}`.padEnd(100, 'x')) },
      'capabilities',
    ],
    ['an unknown scope', { name: 'R', scopes: ['openid', 'agents:write'] }, 'scopes.1'],
    ['no scope at all', { name: 'R', scopes: [] }, 'scopes'],
    ['a repeated scope', { name: 'R', scopes: ['openid', 'openid'] }, 'scopes'],
    ['an audience with a space', { name: 'R', audience: 'a b' }, 'audience'],
    ['a repeated further audience', { name: 'R', audiences: ['a', 'a'] }, 'audiences'],
    ['metadata that is too large', { name: 'R', metadata: { a: 'x'.repeat(17_000) } }, 'metadata'],
    ['metadata that is no object', { name: 'R', metadata: [] }, 'metadata'],
    ['an unknown field', { name: 'R', colour: 'red' }, ''],
  ])('must not have %s', (_, body, path) => {
    const result = createAgentBody.safeParse(body);
    expect(result.error?.issues.map((issue) => issue.path.join('.'))).toEqual([path]);
  });
});

describe('the body of a change', () => {
  it('may be empty, and is held to the same limits', () => {
    expect(updateAgentBody.safeParse({}).success).toBe(true);
    expect(updateAgentBody.safeParse({ name: '' }).success).toBe(false);
    expect(updateAgentBody.safeParse({ scopes: [] }).success).toBe(false);
  });
});

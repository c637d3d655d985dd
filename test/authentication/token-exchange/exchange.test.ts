// What a token exchange grants: the chain of actors, scopes, end and audience.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  boundExpiry,
  boundScopes,
  buildDelegatedClaims,
  checkActor,
  checkLinkedAgent,
  checkMayAct,
  checkOwnSubject,
  checkPossession,
  chooseAudience,
  deriveFrom,
  ownLinks,
} from '../../../src/authentication/token-exchange/exchange.ts';
import { TOKEN_TYPES } from '../../../src/authentication/tokens/grant-types.ts';
import {
  type Act,
  actorsOf,
  buildAct,
  LARGEST_ACT,
  MOST_ACTORS,
  readAct,
} from '../../../src/platform/act.ts';
import { ServiceError } from '../../../src/platform/errors/service-error.ts';

const codeOf = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (error instanceof ServiceError) return error.code;
    throw error;
  }
  return 'accepted';
};
const robot = { sub: 'robot', agent: { name: 'Robot', capabilities: ['web'] } };
const chain = (depth: number): Act => ({ sub: `a${depth}`, ...(depth > 1 ? { act: chain(depth - 1) } : {}) });

describe('the chain of actors', () => {
  it('is the present actor, with the older ones inside, none of them changed', () => {
    expect(buildAct(robot, undefined)).toEqual(robot);
    const older = buildAct({ sub: 'first' }, undefined);
    expect(buildAct(robot, older)).toEqual({ ...robot, act: { sub: 'first' } });
    expect(actorsOf(buildAct(robot, chain(3))).map(({ sub }) => sub)).toEqual(['robot', 'a3', 'a2', 'a1']);
    expect(actorsOf(undefined)).toEqual([]);
  });

  it('survives being issued and read again', () => {
    const act = buildAct(robot, buildAct({ ...robot, sub: 'other' }, chain(2)));
    expect(readAct(JSON.parse(JSON.stringify(act)))).toEqual(act);
  });

  it('has at most five actors', () => {
    expect(codeOf(() => buildAct(robot, chain(MOST_ACTORS - 1)))).toBe('accepted');
    expect(codeOf(() => buildAct(robot, chain(MOST_ACTORS)))).toBe('invalid_request');
    expect(codeOf(() => readAct(chain(MOST_ACTORS)))).toBe('accepted');
    expect(codeOf(() => readAct(chain(MOST_ACTORS + 1)))).toBe('invalid_request');
    expect(codeOf(() => readAct(chain(1_000)))).toBe('invalid_request');
  });

  it('fits into a token', () => {
    const large = { sub: 'x', agent: { name: 'n', capabilities: ['c'.repeat(LARGEST_ACT / 2)] } };
    expect(codeOf(() => buildAct(large, undefined))).toBe('accepted');
    expect(codeOf(() => buildAct(large, buildAct(large, undefined)))).toBe('invalid_request');
  });

  it('says of a foreign actor whose he is, and believes nothing else of him', () => {
    const claim = { sub: 'x', agent: robot.agent, extra: 1, act: { sub: 'y', iss: 'https://third.example' } };
    const foreign = { issuer: 'https://idp.example', own: 'https://id.example' };
    expect(readAct(claim, foreign)).toEqual({
      sub: 'x',
      iss: 'https://idp.example',
      act: { sub: 'y', iss: 'https://third.example' },
    });
  });

  it('counts an agent of this issuer as one, in whichever token it is named, and refuses a name that is no agent’s', () => {
    const foreign = { issuer: 'https://idp.example', own: 'https://id.example' };
    const id = '0192f0c1-2345-7000-8000-00000000000a';
    const named = (sub: string) => readAct({ sub: 'x', act: { sub, iss: foreign.own } }, foreign);
    expect(ownLinks(named(id))).toEqual([id]);
    expect(ownLinks(readAct({ sub: id }, foreign))).toEqual([]);
    for (const sub of ['robot', id.toUpperCase(), `${id}\u0000`])
      expect(codeOf(() => ownLinks(named(sub)))).toBe('invalid_request');
  });

  it.each([
    [null],
    ['x'],
    [[]],
    [{}],
    [{ sub: 7 }],
    [{ sub: '' }],
    [{ sub: 'x', act: 'y' }],
    [{ sub: 'x', act: null }],
  ])('is not %j', (claim) => {
    expect(codeOf(() => readAct(claim))).toBe('invalid_request');
  });
});

describe('an actor token', () => {
  const own = { sub: 'agent-1', subject_type: 'agent', client_id: 'service-agent' };
  it.each([
    [own, 'accepted'],
    [{ ...own, sub: 'app', client_id: 'app' }, 'invalid_request'],
    [{ ...own, subject_type: 'human' }, 'invalid_request'],
    [{ ...own, act: { sub: 'other' } }, 'invalid_request'],
  ])('%j is %s', (claims, expected) => {
    expect(codeOf(() => checkActor(claims))).toBe(expected);
  });

  const actor = { sub: 'agent-1', issuer: 'https://id.example' };
  it.each([
    [undefined, 'accepted'],
    [{ sub: 'agent-1' }, 'accepted'],
    [{ sub: 'agent-1', iss: 'https://id.example' }, 'accepted'],
    [{ sub: 'agent-2' }, 'invalid_request'],
    [{ sub: 'agent-1', iss: 'https://other.example' }, 'invalid_request'],
    [{}, 'invalid_request'],
    ['agent-1', 'invalid_request'],
    [null, 'invalid_request'],
  ])('meets may_act %j and is %s', (mayAct, expected) => {
    expect(codeOf(() => checkMayAct(mayAct, actor))).toBe(expected);
  });
});

it('a token that is derived from others names each once, and nothing that it says elsewhere', () => {
  const id = (digit: number) => `0192f0c1-2345-7000-8000-00000000000${digit}`;
  const parents = [
    [id(1), id(2), 'service-agent', id(9)],
    [id(3), id(2), id(1)],
  ];
  expect(deriveFrom(parents, [id(9)])).toEqual([id(1), id(2), id(3)]);
});

describe('the parties', () => {
  it.each<[string, () => void, string]>([
    ['an application of no agent', () => checkLinkedAgent(undefined, { sub: 'a' }), 'accepted'],
    ['an application of the actor', () => checkLinkedAgent({ id: 'a' }, { sub: 'a' }), 'accepted'],
    ['an application of another agent', () => checkLinkedAgent({ id: 'b' }, { sub: 'a' }), 'invalid_request'],
    ['a subject token', () => checkOwnSubject({}, TOKEN_TYPES.accessToken), 'accepted'],
    [
      'a bound subject token',
      () => checkOwnSubject({ cnf: { jkt: 'x' } }, TOKEN_TYPES.jwt),
      'invalid_request',
    ],
    ['an access token as an ID token', () => checkOwnSubject({}, TOKEN_TYPES.idToken), 'invalid_request'],
    ['an actor without a key', () => checkPossession({}, undefined), 'accepted'],
    ['an actor without a key, with a proof', () => checkPossession({}, { jkt: 'x' }), 'accepted'],
    ['a bound actor with its key', () => checkPossession({ cnf: { jkt: 'x' } }, { jkt: 'x' }), 'accepted'],
    [
      'a bound actor without a proof',
      () => checkPossession({ cnf: { jkt: 'x' } }, undefined),
      'invalid_dpop_proof',
    ],
    [
      'a bound actor with another key',
      () => checkPossession({ cnf: { jkt: 'x' } }, { jkt: 'y' }),
      'invalid_dpop_proof',
    ],
  ])('%s: %#', (_name, work, expected) => {
    expect(codeOf(work)).toBe(expected);
  });
});

describe('the scopes', () => {
  const all = ['email', 'openid', 'profile', 'wallet:sign'];
  const limits = { client: all, actor: all, delegation: all, agent: all };

  it('are those that every side allows', () => {
    expect(
      boundScopes(undefined, { ...limits, delegation: ['openid', 'email'], subject: ['openid', 'x'] }),
    ).toEqual(['openid']);
    expect(boundScopes(undefined, limits)).toEqual(all);
    expect(boundScopes('profile openid', limits)).toEqual(['openid', 'profile']);
  });

  it.each(['client', 'subject', 'actor', 'delegation', 'agent'] as const)(
    'are refused beyond those of the %s',
    (side) => {
      const narrowed = { ...limits, [side]: ['openid'] };
      expect(boundScopes('openid', narrowed)).toEqual(['openid']);
      expect(boundScopes(undefined, narrowed)).toEqual(['openid']);
      expect(codeOf(() => boundScopes('openid email', narrowed))).toBe('invalid_scope');
      expect(codeOf(() => boundScopes(undefined, { ...limits, [side]: ['nothing'] }))).toBe('invalid_scope');
    },
  );

  it('never go beyond any side, whatever is asked for', () => {
    const some = fc.subarray(all);
    fc.assert(
      fc.property(
        some,
        some,
        some,
        fc.option(some),
        fc.option(some),
        some,
        (client, actor, delegation, subject, asked, agent) => {
          const sides = { client, actor, delegation, agent, ...(subject === null ? {} : { subject }) };
          let granted: string[];
          try {
            granted = boundScopes(asked?.join(' '), sides);
          } catch {
            return;
          }
          for (const side of Object.values(sides)) expect(side).toEqual(expect.arrayContaining(granted));
          if (asked !== null) expect(asked.toSorted()).toEqual(granted);
        },
      ),
    );
  });
});

describe('the end', () => {
  const limits = { issuedAt: 1_000, lifetime: 300, subject: 9_000, actor: 9_000, delegation: 9_000 };
  it.each([
    [{}, 1_300],
    [{ subject: 1_100 }, 1_100],
    [{ actor: 1_050.9 }, 1_050],
    [{ delegation: 1_001.999 }, 1_001],
  ])('with %j is %i', (change, expected) => {
    expect(boundExpiry({ ...limits, ...change })).toBe(expected);
  });
  it.each([
    [{ subject: 1_000 }, 'invalid_request'],
    [{ actor: 1_000.5 }, 'invalid_request'],
    [{ delegation: 1_000.999 }, 'delegation_expired'],
    [{ subject: 1, delegation: 1 }, 'invalid_request'],
  ])('with %j is refused as %s', (change, code) => {
    expect(codeOf(() => boundExpiry({ ...limits, ...change }))).toBe(code);
  });
});

describe('the audience', () => {
  const agent = { usual: 'usual', others: ['other'] };
  it.each([
    [undefined, null, 'usual'],
    ['other', null, 'other'],
    ['usual', null, 'usual'],
    [undefined, 'other', 'other'],
    ['other', 'other', 'other'],
  ])('asked for as %j, delegated as %j, is %s', (requested, delegated, expected) => {
    expect(chooseAudience(requested, delegated, agent)).toBe(expected);
  });
  it.each([
    ['strange', null],
    ['usual', 'other'],
    [undefined, 'special'],
    ['special', 'special'],
  ])('asked for as %j, delegated as %j, is refused', (requested, delegated) => {
    expect(codeOf(() => chooseAudience(requested, delegated, agent))).toBe('invalid_target');
  });
});

it('the claims never look like a session of the human', () => {
  const userId = '0192f0c1-2345-7000-8000-000000000001';
  const subject = { issuer: 'https://idp.example', sub: 'ada' };
  expect(buildDelegatedClaims(userId, { subject, actor: robot, older: undefined })).toEqual({
    sub: userId,
    delegated_subject: { iss: 'https://idp.example', sub: 'ada' },
    subject_type: 'agent',
    act: robot,
  });
});

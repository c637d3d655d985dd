// Following the event feed: what each event ends and for how long, and what happens while the feed cannot be read.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createGuard, type GuardOptions } from '../../../packages/resource-server/src/guard.ts';
import {
  followRevocations,
  type Revocations,
  type RevocationsOptions,
} from '../../../packages/resource-server/src/revocations.ts';
import { createTestIssuer, type TestIssuer } from '../../../packages/resource-server/src/testing.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { bearer, outcomeOf } from './requests.ts';

const FEED = '/api/v1/events';

let time = 1_800_000_000_000;
let issuer: TestIssuer;
const following: Revocations[] = [];
beforeEach(async () => {
  // The guards of this file say that something is away, as they should.
  vi.spyOn(console, 'warn').mockImplementation(() => undefined);
  time += 86_400_000;
  issuer = await createTestIssuer({ now: () => time });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(following.splice(0).map((revocations) => revocations.close()));
});

const follow = (options: Partial<RevocationsOptions> = {}) => {
  const quiet = { intervalMs: 5, onError: () => undefined };
  const revocations = followRevocations({ ...issuer.revocationsOptions, ...quiet, ...options });
  following.push(revocations);
  return revocations;
};
const guardWith = async (options: Partial<RevocationsOptions> = {}, more: Partial<GuardOptions> = {}) => {
  const revocations = follow(options);
  await revocations.ready();
  return { revocations, guard: createGuard({ ...issuer.guardOptions, revocations, ...more }) };
};
/** Waits until the feed was read once more, from its request to its answer. */
const readAgain = async (): Promise<void> => {
  const before = issuer.requests.filter((path) => path === FEED).length;
  await vi.waitUntil(() => issuer.requests.filter((path) => path === FEED).length >= before + 4, {
    ...PATIENCE,
    interval: 5,
  });
};

describe('a guard that follows', () => {
  it('refuses a revoked token, and no other of the same agent', async () => {
    const { guard } = await guardWith();
    const [one, two] = [await issuer.createToken({ sub: 'a' }), await issuer.createToken({ sub: 'a' })];
    expect(await outcomeOf(guard, bearer(one))).toBe('accepted');
    issuer.revokeToken(one);
    await readAgain();
    expect(await outcomeOf(guard, bearer(one))).toBe('401 token_revoked');
    expect(await outcomeOf(guard, bearer(two))).toBe('accepted');
  });

  it('refuses all tokens of a suspended agent, also as an actor, and later ones after its reactivation no more', async () => {
    const { guard } = await guardWith();
    const own = await issuer.createToken({ sub: 'a' });
    const delegated = await issuer.createDelegatedToken({ agentId: 'a', userId: 'u' });
    const outcomes = async (...tokens: string[]) =>
      Promise.all(tokens.map((token) => outcomeOf(guard, bearer(token), { delegated: 'accept' })));
    expect(await outcomes(own, delegated)).toEqual(['accepted', 'accepted']);
    time += 1_000;
    issuer.suspendAgent('a');
    await readAgain();
    expect(await outcomes(own, delegated)).toEqual(['401 token_revoked', '401 token_revoked']);
    time += 1_000;
    issuer.reactivateAgent('a');
    time += 1;
    await readAgain();
    expect(await outcomes(own, await issuer.createToken({ sub: 'a' }))).toEqual([
      '401 token_revoked',
      'accepted',
    ]);
  });

  it.each<[string, Record<string, unknown>]>([
    ['auth.token.revoked', { token_type: 'refresh_token', family_id: 'f', sub: 'a' }],
    ['auth.token.revoked', { token_type: 'all', principal: 'agent', ends: 'now', sub: 'a' }],
    ['admin.agent.key.revoked', { agent_id: 'a', key_id: 'k' }],
  ])('refuses what the agent got until %s, since tokens do not name what it ends', async (type, data) => {
    const { guard } = await guardWith();
    const before = await issuer.createToken({ sub: 'a' });
    time += 10;
    issuer.emit(type, data);
    await readAgain();
    time += 10;
    expect(await outcomeOf(guard, bearer(before))).toBe('401 token_revoked');
    expect(await outcomeOf(guard, bearer(await issuer.createToken({ sub: 'a' })))).toBe('accepted');
  });

  it('refuses what is derived from a delegation, a token or an agent that ended', async () => {
    const { guard } = await guardWith();
    const create = (claims: Record<string, unknown>) =>
      issuer.createDelegatedToken({ agentId: 'b', userId: 'u', ...claims });
    const tokens = [
      await create({ delegation_id: 'd' }),
      await create({ derived_from: ['t'] }),
      await create({ derived_from: ['a'] }),
      await create({ act: { sub: 'b', act: { sub: 'a' } } }),
      await create({ act: { sub: 'b', act: { sub: 'a', iss: 'https://elsewhere.test' } } }),
    ];
    const outcomes = async () =>
      Promise.all(tokens.map((token) => outcomeOf(guard, bearer(token), { delegated: 'accept' })));
    expect(await outcomes()).toEqual(Array(5).fill('accepted'));
    issuer.emit('admin.delegation.revoked', { delegation_id: 'd', agent_id: 'x' });
    issuer.emit('auth.token.revoked', { token_type: 'access_token', token_id: 't', sub: 'x' });
    issuer.emit('admin.agent.deleted', { agent_id: 'a' });
    await readAgain();
    // An actor of another issuer is not this issuer's agent of the same name.
    expect(await outcomes()).toEqual([...Array(4).fill('401 token_revoked'), 'accepted']);
  });

  it('refuses what a revoked issuer key has signed, and fetches the keys anew', async () => {
    const { guard } = await guardWith();
    const token = await issuer.createToken();
    expect(await outcomeOf(guard, bearer(token))).toBe('accepted');
    const { kid } = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString());
    await issuer.rotateKey();
    issuer.emit('admin.issuer.key.revoked', { kid, algorithm: 'ES256', reason: 'stolen' });
    await readAgain();
    expect(await outcomeOf(guard, bearer(token))).toBe('401 token_revoked');
    expect(await outcomeOf(guard, bearer(await issuer.createToken()))).toBe('accepted');
  });

  it('knows what ended before it began', async () => {
    const token = await issuer.createToken();
    issuer.revokeToken(token);
    time += 60_000;
    const { guard } = await guardWith();
    expect(await outcomeOf(guard, bearer(token))).toBe('401 token_revoked');
  });

  it('goes on after a cursor that is too old, and after a token that was refused', async () => {
    const statuses: number[] = [];
    const fetch: typeof globalThis.fetch = async (input, init) => {
      if (!String(input).includes(FEED)) return issuer.fetch(input, init);
      const [status] = statuses.splice(0, 1);
      return status === undefined ? issuer.fetch(input, init) : new Response('{}', { status });
    };
    const { guard, revocations } = await guardWith({ fetch });
    const token = await issuer.createToken();
    statuses.push(410, 410, 401, 401);
    issuer.revokeToken(token);
    await vi.waitUntil(() => statuses.length === 0 && revocations.status().failures === 0, PATIENCE);
    expect(await outcomeOf(guard, bearer(token))).toBe('401 token_revoked');
    expect(issuer.requests.filter((path) => path === '/oauth/token').length).toBeGreaterThan(1);
  });

  it('reads back when the service cannot read its cursor any more', async () => {
    const reads = { refused: 0, begun: 0 };
    const fetch: typeof globalThis.fetch = async (input, init) => {
      if (!String(input).includes(FEED)) return issuer.fetch(input, init);
      const isFollowing = String(input).includes('after=');
      if (isFollowing && reads.refused < 2) {
        reads.refused += 1;
        return Response.json({ error: 'invalid_request' }, { status: 400 });
      }
      if (!isFollowing) reads.begun += 1;
      return issuer.fetch(input, init);
    };
    const { revocations } = await guardWith({ fetch });
    await vi.waitUntil(() => reads.begun > 2 && revocations.status().failures === 0, PATIENCE);
  });

  it('takes no harm from events that end nothing, whatever is in them', async () => {
    const { guard, revocations } = await guardWith();
    issuer.emit('admin.user.created', { agent_id: 'a', occurred_at: 'never' });
    issuer.emit('admin.agent.updated', { agent_id: 'a' });
    await readAgain();
    expect(revocations.status()).toMatchObject({ failures: 0, entries: 0 });
    expect(await outcomeOf(guard, bearer(await issuer.createToken({ sub: 'a' })))).toBe('accepted');
  });
});

describe('while the feed is unreachable', () => {
  const APPLICATION = { clientId: 'api', clientSecret: 'secret' };
  const withoutFeed: typeof fetch = (input, init) =>
    String(input).includes(FEED) ? Promise.reject(new TypeError('away')) : issuer.fetch(input, init);

  /** A guard whose feed was read once, and is away since then for so many seconds. */
  const strand = async (
    seconds: number,
    options: Partial<RevocationsOptions>,
    more: Partial<GuardOptions> = {},
  ) => {
    let fetch = issuer.fetch;
    const made = await guardWith({ fetch: (input, init) => fetch(input, init), ...options }, more);
    fetch = withoutFeed;
    await vi.waitUntil(() => made.revocations.status().failures > 0, PATIENCE);
    time += seconds * 1_000;
    return made;
  };
  const outcome = async ({ guard }: Awaited<ReturnType<typeof strand>>) =>
    outcomeOf(guard, bearer(await issuer.createToken()));

  it('refuses from the stated age on, and never before', async () => {
    expect(await outcome(await strand(2, {}))).toBe('accepted');
    expect(await outcome(await strand(4, {}))).toBe('503 temporarily_unavailable');
  });

  it('counts five intervals, where those are longer than three seconds', async () => {
    const { revocations, guard } = await guardWith({ intervalMs: 60_000 });
    time += 290_000;
    expect(await outcomeOf(guard, bearer(await issuer.createToken()))).toBe('accepted');
    time += 20_000;
    expect(await outcomeOf(guard, bearer(await issuer.createToken()))).toBe('503 temporarily_unavailable');
    expect(revocations.status().failures).toBe(0);
  });

  it('introspects where the guard can', async () => {
    const stranded = await strand(4, {}, { introspection: { ...APPLICATION, cacheSeconds: 0 } });
    expect(await outcome(stranded)).toBe('accepted');
    const token = await issuer.createToken();
    issuer.revokeToken(token);
    expect(await outcomeOf(stranded.guard, bearer(token))).toBe('401 token_revoked');
    issuer.setReachable(false);
    expect(await outcome(stranded)).toBe('503 temporarily_unavailable');
  });

  it('accepts until a stated age where that is wanted, but nothing that it knows to have ended', async () => {
    const whileStale = { acceptForSeconds: 60 };
    const token = await issuer.createToken();
    issuer.revokeToken(token);
    const stranded = await strand(50, { whileStale });
    expect(await outcome(stranded)).toBe('accepted');
    expect(await outcomeOf(stranded.guard, bearer(token))).toBe('401 token_revoked');
    time += 11_000;
    expect(await outcome(stranded)).toBe('503 temporarily_unavailable');
  });

  it('accepts nothing at a start without a feed', async () => {
    const revocations = follow({ fetch: withoutFeed });
    const guard = createGuard({ ...issuer.guardOptions, revocations });
    expect(await outcomeOf(guard, bearer(await issuer.createToken()))).toBe('503 temporarily_unavailable');
  });

  it('says so once, and recovers', async () => {
    const onError = vi.fn();
    let fetch = withoutFeed;
    const revocations = follow({ fetch: (input, init) => fetch(input, init), onError });
    await vi.waitUntil(() => revocations.status().failures >= 3, PATIENCE);
    expect(onError).toHaveBeenCalledTimes(1);
    fetch = issuer.fetch;
    await revocations.ready();
    expect(revocations.status()).toMatchObject({ failures: 0, ageSeconds: 0 });
  });

  it('needs introspection to introspect', () => {
    const revocations = follow({ whileStale: 'introspect' });
    expect(() => createGuard({ ...issuer.guardOptions, revocations })).toThrow(/introspection/);
  });
});

describe('while the feed is not complete', () => {
  /** A guard whose feed answers, but has been complete until so many seconds ago for so long. */
  const strand = async (behindSeconds: number | null, options: Partial<GuardOptions> = {}) => {
    let behind: number | null = 0;
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const answer = await issuer.fetch(input, init);
      if (!String(input).includes(FEED)) return answer;
      const page = await answer.json();
      // The clock of the service is not the one of this server.
      const at = (ms: number) => new Date(time + 30_000 - ms).toISOString();
      const until = behind === null ? null : at(behind * 1000);
      return Response.json({ ...page, read_at: at(0), complete_until: until });
    };
    const made = await guardWith({ fetch, whileStale: undefined }, options);
    behind = behindSeconds;
    await readAgain();
    return made;
  };
  const outcome = async ({ guard }: Awaited<ReturnType<typeof strand>>) =>
    outcomeOf(guard, bearer(await issuer.createToken()));

  it('goes on for as long as the feed may be away', async () => {
    const made = await strand(2);
    time += 2_000;
    await readAgain();
    expect(await outcome(made)).toBe('accepted');
    expect(made.revocations.status().ageSeconds).toBe(2);
  });

  it.each([4, null])(
    'refuses what it cannot know when it is behind by %s s, and says why',
    async (behind) => {
      const causes: unknown[] = [];
      const made = await strand(behind, { onRefused: ({ cause }) => causes.push(cause) });
      time += 4_000;
      await readAgain();
      expect(await outcome(made)).toBe('503 temporarily_unavailable');
      expect(made.revocations.status()).toMatchObject({ ageSeconds: 4, failures: 0 });
      expect(String(causes[0])).toMatch(/complete until \d{4}-.*no further/);
    },
  );

  it('introspects where it can', async () => {
    const introspection = { clientId: 'api', clientSecret: 'secret', cacheSeconds: 0 };
    const made = await strand(4, { introspection });
    time += 4_000;
    await readAgain();
    expect(await outcome(made)).toBe('accepted');
    expect(issuer.requests).toContain('/oauth/introspect');
  });

  it('takes no answer for complete that does not say so', async () => {
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const page = await (await issuer.fetch(input, init)).json();
      return Response.json({ ...page, complete_until: undefined });
    };
    const revocations = follow({ fetch });
    const guard = createGuard({ ...issuer.guardOptions, revocations });
    await revocations.ready();
    expect(await outcomeOf(guard, bearer(await issuer.createToken()))).toBe('503 temporarily_unavailable');
  });

  it('counts by a clock that nobody sets', async () => {
    let elapsed = 0;
    const { guard, revocations } = await guardWith({ elapsed: () => elapsed, intervalMs: 60_000 });
    const token = await issuer.createToken({ exp: time / 1000 + 900 });
    elapsed += 299_000;
    time -= 120_000;
    expect(await outcomeOf(guard, bearer(token))).toBe('accepted');
    elapsed += 2_000;
    expect(revocations.status().ageSeconds).toBe(301);
    expect(await outcomeOf(guard, bearer(token))).toBe('503 temporarily_unavailable');
  });
});

describe('a token that lives longer than the guard remembers', () => {
  it('is judged as while the feed is unreachable', async () => {
    const { guard } = await guardWith({ longestTokenSeconds: 200 });
    expect(await outcomeOf(guard, bearer(await issuer.createToken()))).toBe('503 temporarily_unavailable');
    const exp = Math.floor(time / 1000) + 100;
    expect(await outcomeOf(guard, bearer(await issuer.createToken({ exp })))).toBe('accepted');
  });
});

// A clock of the resource server that is set back or ahead makes nothing fresh that is not.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createGuard, type GuardOptions } from '../../../packages/resource-server/src/guard.ts';
import { createMemoryReplayStore } from '../../../packages/resource-server/src/replay-store.ts';
import { followRevocations } from '../../../packages/resource-server/src/revocations.ts';
import { createTestIssuer, type TestIssuer } from '../../../packages/resource-server/src/testing.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { bearer, outcomeOf } from './requests.ts';

const JWKS = '/.well-known/jwks.json';
const APPLICATION = { clientId: 'api', clientSecret: 'secret' };

/** The clock that somebody can set, and the one that nobody can. */
let time: number;
let elapsed: number;
let issuer: TestIssuer;
const closing: { close(): Promise<void> }[] = [];
beforeEach(async () => {
  [time, elapsed] = [1_800_000_000_000, 0];
  issuer = await createTestIssuer({ now: () => 1_800_000_000_000 + elapsed });
  vi.spyOn(console, 'warn').mockImplementation(() => undefined);
});
afterEach(async () => {
  await Promise.all(closing.splice(0).map((each) => each.close()));
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const clocks = { now: () => time, elapsed: () => elapsed };
const pass = (seconds: number): void => {
  time += seconds * 1000;
  elapsed += seconds * 1000;
};
const setBack = (seconds: number): void => {
  time -= seconds * 1000;
};
const guardWith = (options: Partial<GuardOptions> = {}) =>
  createGuard({ ...issuer.guardOptions, ...clocks, ...options });
const follow = async (fetch: typeof globalThis.fetch = issuer.fetch) => {
  const options = { ...issuer.revocationsOptions, ...clocks, fetch, intervalMs: 60_000 };
  const revocations = followRevocations({ ...options, staleAfterSeconds: 3_000 });
  closing.push(revocations);
  await revocations.ready();
  return revocations;
};

it('an answer of introspection is kept for its time, though the clock was set back', async () => {
  const introspection = { ...APPLICATION, use: 'always', cacheSeconds: 2 } as const;
  const guard = guardWith({ introspection });
  const token = await issuer.createToken({ iat: 1_799_999_000 });
  expect(await outcomeOf(guard, bearer(token))).toBe('accepted');
  issuer.revokeToken(token);
  pass(3);
  setBack(120);
  expect(await outcomeOf(guard, bearer(token))).toBe('401 token_revoked');
});

it('the keys are kept for 300 seconds, though the clock was set back', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: time });
  const guard = guardWith();
  const token = await issuer.createToken({ exp: 1_800_003_600 });
  expect(await outcomeOf(guard, bearer(token))).toBe('accepted');
  await issuer.rotateKey({ keepsOld: false });
  pass(301);
  vi.setSystemTime(time - 3_600_000);
  expect(await outcomeOf(guard, bearer(token))).toBe('401 invalid_token');
  expect(issuer.requests.filter((path) => path === JWKS)).toHaveLength(2);
});

it('a token that ended and has expired stays refused', async () => {
  const token = await issuer.createToken();
  issuer.revokeToken(token);
  const revocations = await follow();
  const guard = guardWith({ revocations });
  pass(365);
  setBack(120);
  expect(await outcomeOf(guard, bearer(token))).toBe('401 token_revoked');
});

it('a guard whose clock was ahead at its start knows what ended before', async () => {
  const token = await issuer.createToken();
  issuer.revokeToken(token);
  pass(1);
  time += 7_200_000;
  const revocations = await follow();
  setBack(7_200);
  expect(await outcomeOf(guardWith({ revocations }), bearer(token))).toBe('401 token_revoked');
});

it('a proof that was used and forgotten is not accepted again', async () => {
  const store = createMemoryReplayStore({ now: () => time });
  const expiresAt = time / 1000 + 70;
  expect(await store.use('one', expiresAt)).toBe(true);
  pass(71);
  expect(await store.use('two', time / 1000 + 70)).toBe(true);
  setBack(60);
  expect(await store.use('one', expiresAt)).toBe(false);
  expect(await store.use('three', time / 1000 + 70)).toBe(true);
});

it.each([
  ['the feed, because its tenant is suspended', [['/api/v1/events', 403]]],
  ['the feed, with another token as well', [['/api/v1/events', 401]]],
  [
    'a token, because the application was deleted',
    [
      ['/api/v1/events', 401],
      ['/oauth/token', 401],
    ],
  ],
  [
    'a token, because the application has lost the grant',
    [
      ['/api/v1/events', 401],
      ['/oauth/token', 400],
    ],
  ],
] as const)('an issuer is not away that refuses %s', async (_title, refusals) => {
  let refuses = false;
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const [, status] = refusals.find(([path]) => String(input).includes(path)) ?? [];
    return refuses && status !== undefined ? new Response('{}', { status }) : issuer.fetch(input, init);
  };
  const revocations = followRevocations({
    ...issuer.revocationsOptions,
    ...clocks,
    fetch,
    intervalMs: 5,
    whileStale: { acceptForSeconds: 3_600 },
  });
  closing.push(revocations);
  await revocations.ready();
  const guard = guardWith({ revocations });
  const token = await issuer.createToken();
  expect(await outcomeOf(guard, bearer(token))).toBe('accepted');
  refuses = true;
  await vi.waitUntil(() => revocations.status().failures > 2, PATIENCE);
  expect(await outcomeOf(guard, bearer(token))).toBe('503 temporarily_unavailable');
  refuses = false;
  await vi.waitUntil(() => revocations.status().failures === 0, PATIENCE);
  expect(await outcomeOf(guard, bearer(token))).toBe('accepted');
});

// Resource servers that keep the JWKS for as long as they may, through rotations at every instant: two processes whose
// lists are as old as they may be, verifiers whose clocks are a minute wrong, and nobody fails.
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import type { JSONWebKeySet } from 'jose';
import { afterAll, describe, expect, it } from 'vitest';
import type { RequestContext } from '../../../src/platform/context.ts';
import type { Database } from '../../../src/platform/database/database.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { createPatientDatabase, useTestDatabase } from '../../setup/database.ts';
import { type Accounts, createAccounts, provisionTenant, requestTo } from '../tokens/accounts.ts';
import { BEGINNING, FROZEN_TIME, installFrozenClock, setClock } from './frozen-clock.ts';
import { createResourceServer, MAX_AGE } from './resource-server.ts';

/** Seconds of a key, and of the two kinds of token: the usual ones, and the longest that a setting allows. */
const LIFETIME = 7 * 86_400;
const LIVES = [300, 86_400] as const;
const SKEWS = [-60_000, 0, 60_000];

const test = await useTestDatabase(FROZEN_TIME);
const other = createPatientDatabase({ url: test.url, pool: 5, applicationName: 'other' });
afterAll(() => other.close());
let clock = BEGINNING;
await installFrozenClock(test.url);
const masterKeys = [{ id: 'test', key: randomBytes(32) }];
const start = (database: Database, accessTokenLifetime: number) =>
  createAccounts(database, {
    masterKeys,
    now: () => clock,
    monotonic: () => clock,
    issuerKeyLifetime: LIFETIME,
    accessTokenLifetime,
  });
const pair = (life: number) => [start(test.database, life), start(other, life)] as const;
/** Two processes for each life of tokens. */
const processes = { 300: pair(300), 86400: pair(86_400) };

async function moveTo(at: number): Promise<void> {
  clock = at;
  await setClock(test.database, clock);
}

/** A tenant, its resource servers and the tokens that live. */
async function createScene(life: (typeof LIVES)[number]) {
  const [one, two] = processes[life];
  const context: RequestContext = requestTo((await provisionTenant(one, `t-${newId()}`)).tenant);
  const { tenant } = context;
  const tokens: { text: string; exp: number; kid: string }[] = [];
  const serve = (accounts: Accounts, skew: number, maxAge?: number) => ({
    skew,
    ...createResourceServer({
      fetchKeys: async () => (await accounts.issuer.jwks(tenant)) as JSONWebKeySet,
      now: () => clock,
      skew,
      maxAge,
    }),
  });
  // The last ones fetch anew for each token: what leaves the set too early, they miss first.
  const servers = [
    ...[one, two].flatMap((accounts) => SKEWS.map((skew) => serve(accounts, skew))),
    ...SKEWS.map((skew) => serve(two, skew, 0)),
  ];

  const sign = async (accounts: Accounts) => {
    const grant = { sub: tenant.id, clientId: tenant.id, audience: tenant.audience, scopes: ['openid'] };
    const { accessToken: text, expiresIn } = await accounts.tokens.issueAccessToken(tenant, grant);
    const { kid } = JSON.parse(Buffer.from(text.split('.')[0] ?? '', 'base64url').toString());
    tokens.push({ text, exp: Math.floor(clock / 1000) + expiresIn, kid });
  };
  return {
    context,
    tokens,
    servers,
    both: [one, two] as const,
    sign,
    /** What the workflow does until nothing is due. */
    work: async () => {
      for (let standing = await one.issuerRotation.look({ tenantId: tenant.id }); ; ) {
        const { kind } = standing.step;
        if (kind === 'wait' || kind === 'end') return standing;
        standing = await one.issuerRotation.perform({ tenantId: tenant.id }, kind);
      }
    },
    /** Every server accepts every token that lives by its own clock. */
    check: async () => {
      for (const { skew, accept } of servers)
        for (const { text, exp } of tokens) if (exp * 1000 > clock + skew) await accept(text);
      for (const [index, { exp }] of [...tokens.entries()].reverse())
        if (exp * 1000 <= clock - 60_000) tokens.splice(index, 1);
    },
  };
}

describe.each(LIVES)('with tokens that live for %i s', (life) => {
  it.each([
    ['of a rotation by the clock', false],
    ['of one that is asked for as soon as the next key is published', true],
  ])(
    'no instant %s makes a verifier fail, boundaries included',
    async (_, asked) => {
      const scene = await createScene(life);
      for (const { fetch } of scene.servers) await fetch();
      await scene.work();
      if (asked) await scene.both[0].issuerKeys.rotate(scene.context);
      const { keys } = await scene.both[0].issuerKeys.read(scene.context);
      const [old, next] = keys;
      const at = Number(next?.activateAt.getTime());
      expect(at - clock).toBe(asked ? 600_000 : LIFETIME * 1000);
      const moments = [clock, at, at + 60_000, at + life * 1000, Number(old?.removeAt?.getTime())];
      // Lists that are read a second before a moment serve for another one after it.
      const offsets = [-MAX_AGE - 60, -MAX_AGE, -60, -1, -0.001, 0, 0.001, 0.999, 1, 2, 59, 60, MAX_AGE];
      const instants = moments.flatMap((moment) => offsets.map((offset) => moment + offset * 1000));
      for (const instant of [...new Set(instants)].filter((one) => one > clock).sort((a, b) => a - b)) {
        await moveTo(Math.round(instant));
        for (const accounts of scene.both) await scene.sign(accounts);
        await scene.check();
        await scene.work();
        await scene.check();
      }
      const kids = new Set(scene.tokens.map(({ kid }) => kid));
      expect(kids).toEqual(new Set([next?.kid]));
      expect(
        (await scene.both[0].issuer.jwks(scene.context.tenant)).keys.map(({ kid }) => kid),
      ).not.toContain(old?.kid);
    },
    120_000,
  );

  it('nor does any order of signing, fetching, waiting, rotating, changing the algorithm and being away', async () => {
    const which = fc.integer({ min: 0, max: 1 });
    const step = fc.oneof(
      fc.record({
        kind: fc.constant('pass' as const),
        ms: fc.constantFrom(
          ...[1, 999, 2_000, 59_999, 60_000, 299_999, 300_000, 599_999, 600_000, 600_001],
          ...[(life - 1) * 1000, 86_999_999, 87_000_000, (LIFETIME - 600) * 1000, LIFETIME * 1000],
        ),
      }),
      fc.record({ kind: fc.constantFrom('sign' as const, 'rotate' as const), which }),
      fc.record({ kind: fc.constant('fetch' as const), server: fc.integer({ min: 0, max: 5 }) }),
      fc.record({ kind: fc.constant('work' as const) }),
      fc.record({
        kind: fc.constant('algorithm' as const),
        which,
        value: fc.constantFrom('ES256' as const, 'EdDSA' as const),
      }),
    );
    let rotated = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
        const scene = await createScene(life);
        const seen = new Set<string>();
        for (const one of steps) {
          if (one.kind === 'pass') await moveTo(clock + one.ms);
          else if (one.kind === 'work') await scene.work();
          else if (one.kind === 'fetch') await scene.servers[one.server]?.fetch();
          else {
            const accounts = scene.both[one.which] ?? scene.both[0];
            if (one.kind === 'rotate') await accounts.issuerKeys.rotate(scene.context);
            else if (one.kind === 'algorithm')
              await accounts.tenants.update(scene.context, { signingAlgorithm: one.value });
            await scene.sign(accounts);
          }
          await scene.check();
          for (const { kid } of scene.tokens) seen.add(kid);
        }
        if (seen.size > 1) rotated += 1;
      }),
      { numRuns: 25 },
    );
    // The order of things must have let other keys sign, or nothing was shown.
    expect(rotated).toBeGreaterThan(3);
  });
});

it('the servers of these tests do fail where a key signs that they could not have seen', async () => {
  const scene = await createScene(300);
  await scene.work();
  await moveTo(clock + 1_000);
  await scene.sign(scene.both[0]);
  await scene.check();
  await test.database.query(
    'UPDATE issuer_keys SET private_sealed = NULL, revoked_at = now() WHERE tenant_id = $1',
    [scene.context.tenant.id],
  );
  await moveTo(clock + 2_000);
  await scene.work();
  await scene.sign(scene.both[0]);
  await expect(scene.check()).rejects.toThrow(/no applicable key/);
});

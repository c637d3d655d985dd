// Issuer keys in two API processes: what one rotates or revokes, the other signs and accepts by.
import { setTimeout as sleep } from 'node:timers/promises';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { afterAll, describe, expect, it } from 'vitest';
import { type Answer, type Api, accessToken, race, startApis, tally } from './two-apis.ts';

/** Milliseconds within which every process knows of a revocation, or refuses. */
const PROMISED = 1_000;
const ROOT = '/api/v1/tenant/issuer-keys';

type Key = { kid: string; state: string; activate_at: string };

const stack = await startApis((url) => [url, url]);
const apis = stack.apis as [Api, Api];
afterAll(() => stack.close());

const token = (api: Api) => accessToken(api, stack.authorization);
const kidOf = (text: string): string =>
  JSON.parse(Buffer.from(text.split('.')[0] ?? '', 'base64url').toString()).kid;
const use = (api: Api, text: string) => api.get('/api/v1/event-types', text);
const introspect = (api: Api, text: string) =>
  api.form('/oauth/introspect', { token: text }, { authorization: stack.authorization });
const publishedBy = async (api: Api): Promise<string[]> =>
  (await api.get('/.well-known/jwks.json', '')).body.keys.map(({ kid }: Key) => kid);
const keysOf = async (api: Api): Promise<Key[]> => (await api.get(ROOT, await token(api))).body.data;

async function rotate(api: Api, text: string): Promise<Answer> {
  return api.json('POST', `${ROOT}/rotate`, {}, { authorization: `Bearer ${text}` });
}
async function revoke(api: Api, kid: string): Promise<Answer> {
  const authorization = `Bearer ${await token(api)}`;
  return api.json('POST', `${ROOT}/${kid}/revoke`, { reason: 'stolen' }, { authorization });
}

/** Waits until no process signs by a key, and none publishes it. */
const isGone = (kid: string) =>
  expect
    .poll(async () => {
      const signed = await Promise.all(apis.map(token));
      return [...signed.map(kidOf), ...(await Promise.all(apis.map(publishedBy))).flat()];
    })
    .not.toContain(kid);

/** As if the tenant's keys had been published, and last rotated, so many seconds earlier. */
const age = (seconds: number) =>
  stack.database.query(
    `UPDATE issuer_keys SET created_at = created_at - make_interval(secs => $1), activate_at = CASE WHEN activate_at > now() THEN activate_at
       ELSE activate_at - make_interval(secs => $1) END, retire_at = CASE WHEN retire_at > now() THEN retire_at ELSE retire_at - make_interval(secs => $1) END`,
    [seconds],
  );

describe('a rotation', () => {
  it('that a hundred ask for together in two processes is one, and nothing that was signed is refused', async () => {
    const [one, two] = apis;
    const before = await token(one);
    // The first publishes the next key, which the second lets sign: it has been published long enough then.
    expect((await rotate(one, before)).status).toBe(202);
    await age(601);
    const answers = await race(apis, (api) => rotate(api, before));
    expect(tally(answers)).toEqual({ 202: 100 });
    const signing = new Set(
      answers.map(({ body }) => body.data.find(({ state }: Key) => state === 'active')?.kid),
    );
    expect(signing.size).toBe(1);
    expect(signing).not.toContain(kidOf(before));
    for (const api of apis) expect((await use(api, before)).status).toBe(200);
    // The other process reads its list anew within 2 s, and both accept what either signs at any moment.
    for (let round = 0; round < 30; round += 1) {
      for (const by of apis) {
        const fresh = await token(by);
        for (const api of apis) expect((await use(api, fresh)).status).toBe(200);
      }
      await sleep(100);
    }
    for (const api of [one, two])
      await expect.poll(async () => signing.has(kidOf(await token(api)))).toBe(true);
  });
});

describe('a revocation', () => {
  it('while both processes sign ends every token of the key within a second, and no other', async () => {
    const [one] = apis;
    const doomed = kidOf(await token(one));
    const tokens: string[] = [];
    let signing = true;
    // Paced, so that a quick machine stays below the limit of requests a minute.
    const signers = apis.map(async (api) => {
      for (; signing; await sleep(10)) tokens.push(await token(api));
    });
    await expect.poll(() => tokens.length).toBeGreaterThan(20);
    const answer = await revoke(one, doomed);
    expect(answer.status).toBe(200);
    expect(answer.body.data.find(({ kid }: Key) => kid === doomed).state).toBe('revoked');
    expect(await publishedBy(one)).not.toContain(doomed);
    // What is asked this long after the answer is refused, however slow the machine is.
    await sleep(PROMISED);
    const old = tokens.filter((text) => kidOf(text) === doomed);
    expect(old.length).toBeGreaterThan(0);
    for (const api of apis)
      expect(tally(await Promise.all(old.slice(-10).map((text) => use(api, text))))).toEqual({
        '401 token_revoked': Math.min(10, old.length),
      });
    await isGone(doomed);
    const late = await Promise.all(apis.map(token));
    expect(late.map(kidOf)).not.toContain(doomed);
    signing = false;
    await Promise.all(signers);
    for (const api of apis) {
      for (const text of old.slice(-3)) expect((await introspect(api, text)).body).toEqual({ active: false });
      for (const text of [...late, ...tokens.filter((one) => kidOf(one) !== doomed).slice(-5)]) {
        expect((await use(api, text)).status).toBe(200);
        const { body } = await introspect(api, text);
        expect(body.active).toBe(true);
        expect(Object.keys(body)).not.toContain('signedBy');
      }
    }
  });

  it('in one process and a rotation in the other, together, leave one key that signs everywhere', async () => {
    const [one, two] = apis;
    const asked = await token(two);
    const doomed = kidOf(await token(one));
    const answers = await Promise.all([revoke(one, doomed), rotate(two, asked), revoke(one, doomed)]);
    for (const { status, body } of answers)
      expect([200, 202].includes(status) || body.error === 'token_revoked').toBe(true);
    await isGone(doomed);
    const signed = await Promise.all(apis.map(token));
    expect(signed.map(kidOf)).not.toContain(doomed);
    for (const text of signed) for (const api of apis) expect((await use(api, text)).status).toBe(200);
    const states = (await keysOf(one)).map(({ state }) => state);
    expect(states.filter((state) => state === 'active')).toHaveLength(1);
  });

  it('stops no resource server that asks again for a kid that it does not know, also where no next key was published', async () => {
    const [one, two] = apis;
    const url = new URL(`${one.origin}/.well-known/jwks.json`);
    // By itself jose asks at most once in 30 s.
    const keys = createRemoteJWKSet(url, { cacheMaxAge: 300_000, cooldownDuration: 0 });
    const verify = (text: string) => jwtVerify(text, keys, { typ: 'at+jwt' });
    for (const { kid } of (await keysOf(one)).filter(({ state }) => state === 'published'))
      await revoke(one, kid);
    const before = await token(two);
    await verify(before);
    await revoke(one, kidOf(before));
    await verify(await token(one));
    await isGone(kidOf(before));
    await verify(await token(two));
    await expect(verify(before)).rejects.toMatchObject({ code: 'ERR_JWKS_NO_MATCHING_KEY' });
  });
});

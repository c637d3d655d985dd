// All connections to the database are lost after every statement of every use case: each request is answered, and the
// process goes on.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { buildPayloadOfResponse } from '../../packages/agent/src/payloads.ts';
import { newId } from '../../src/platform/database/ids.ts';
import type { Route } from '../../src/platform/http/route.ts';
import { collectionsOf, fillBody, fillPath, makeAgent, newKeyPair } from '../isolation/rows.ts';
import { type Answer, startTenants, type Tenants } from '../isolation/tenants-server.ts';
import { loadAllRoutes } from '../platform/http/route-table.ts';
import { createCuttingProxy, ENDS, type End } from '../setup/cutting-proxy.ts';

/** More statements than any use case has. */
const MOST_STATEMENTS = 60;

const ROUTES = (await loadAllRoutes()).filter(({ scope }) => scope !== null);

let proxy: Awaited<ReturnType<typeof createCuttingProxy>>;
const uncaught: unknown[] = [];
const note = (error: unknown) => void uncaught.push(error);

const place = async (url: string) => {
  proxy = await createCuttingProxy(url);
  return proxy.url;
};
// On a slow machine the file takes longer than a token lives.
const tenants = await startTenants(undefined, place, { ACCESS_TOKEN_LIFETIME: '3600' });
process.on('uncaughtException', note);
afterEach(() => expect(uncaught.splice(0)).toEqual([]));
afterAll(async () => {
  process.off('uncaughtException', note);
  await tenants.close();
  await proxy.close();
});

type UseCase = () => Promise<() => Promise<Answer>>;

/** Tries until the service is back: a connection that was lost may be found out by the request that takes it. */
async function whenBack<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (tries === 20) throw error;
      await sleep(20);
    }
  }
}

/**
 * Makes the request again and again, each time with a loss one statement later, until it ends before the loss.
 * @param prepare makes what the request needs, and returns it @returns the number of losses
 */
async function loseAfterEachStatement(prepare: UseCase, howOf: (statement: number) => End): Promise<number> {
  for (let statement = 1; statement < MOST_STATEMENTS; statement += 1) {
    const request = await whenBack(prepare);
    const isCut = proxy.cutAfter(statement, howOf(statement));
    const answer = await request();
    const wasCut = isCut();
    proxy.forget();
    expect(answer, answer.text).toSatisfy(({ status }) => status < 300 || (wasCut && status === 503));
    if (!wasCut) return statement - 1;
  }
  throw new Error('the request has no end');
}

/** A request of an agent that has a key, from its own part of the conversation on. */
async function converse() {
  const { owner } = tenants;
  const agentId = await makeAgent(owner);
  const key = newKeyPair();
  expect((await owner.send('POST', `/api/v1/agents/${agentId}/keys`, key.body)).status).toBe(201);
  const challenge = () =>
    owner.send('POST', '/auth/agent/challenge', { key_fingerprint: key.fingerprint, scope: 'openid' }, null);
  const verify = async ({ body }: Answer) => {
    const proof = {
      challenge_id: body.challenge_id,
      algorithm: key.body.algorithm,
      signature: key.sign(buildPayloadOfResponse(body)),
    };
    return () => owner.send('POST', '/auth/agent/verify', proof, null);
  };
  return { challenge, verify };
}

async function obtainRefreshToken(): Promise<string> {
  const { challenge, verify } = await converse();
  const verified = await (await verify(await challenge()))();
  expect(verified.status, verified.text).toBe(200);
  return verified.body.refresh_token;
}

const CONVERSATIONS: readonly (readonly [string, UseCase])[] = [
  ['a token of an application', async () => () => post('/oauth/token', { grant_type: 'client_credentials' })],
  ['a challenge', async () => (await converse()).challenge],
  [
    'a verification',
    async () => {
      const { challenge, verify } = await converse();
      return verify(await challenge());
    },
  ],
  [
    'a refresh',
    async () => {
      const token = await obtainRefreshToken();
      return () => post('/oauth/token', { grant_type: 'refresh_token', refresh_token: token }, '');
    },
  ],
  [
    'an introspection',
    async () => {
      const token = await obtainRefreshToken();
      return () => post('/oauth/introspect', { token });
    },
  ],
  [
    'a revocation',
    async () => {
      const token = await obtainRefreshToken();
      return () => post('/oauth/revoke', { token });
    },
  ],
  ['a published event', async () => () => publish({})],
  ['a published event with an idempotency key', async () => () => publish({ 'idempotency-key': newId() })],
];

const post: Tenants['owner']['post'] = (...args) => tenants.owner.post(...args);
const publish = (headers: Record<string, string>) => {
  const { owner } = tenants;
  const event = { type: 'wallet.tx.signed', data: {} };
  return owner.send('POST', '/api/v1/events', event, owner.token, headers);
};

describe.each(ENDS)('all connections lost after each statement, by %s', (how) => {
  it.each(CONVERSATIONS)('of %s', async (_, prepare) => {
    expect(await loseAfterEachStatement(prepare, () => how)).toBeGreaterThan(0);
  });
});

/** A request of the route with rows of its own. */
const callOf =
  (route: Route): UseCase =>
  async () => {
    const { owner } = tenants;
    const path = await fillPath(
      route,
      collectionsOf(route).map(() => owner),
      owner,
    );
    const body = await fillBody(route, owner, path);
    return () => owner.send(route.method, path, body);
  };

describe('all connections lost after each statement, by each end in turn', () => {
  it.each(ROUTES.map((route, index) => [`${route.method} ${route.path}`, route, index] as const))(
    'of %s',
    async (_, route, index) => {
      const howOf = (statement: number) => ENDS[(statement + index) % ENDS.length] ?? 'reset';
      await loseAfterEachStatement(callOf(route), howOf);
    },
  );
});

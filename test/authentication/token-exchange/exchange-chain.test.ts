// Chains of delegation over HTTP: how they grow, and that the end of any link ends what came of it, in every process.
import { afterAll, describe, expect, it } from 'vitest';
import { createPatientDatabase } from '../../setup/database.ts';
import { letClockMove } from '../../setup/patience.ts';
import { type Accounts, createAccounts } from '../tokens/accounts.ts';
import { codeOf, issueFirst, lastAccepted } from '../tokens/refresh-fixture.ts';
import { asAccessToken, createWorld, useExchange, type World } from './exchange-fixture.ts';

const { test, server, provider, world } = await useExchange();

const secondDatabase = createPatientDatabase({ url: test.url, pool: 4, applicationName: 'second' });
const secondProcess = createAccounts(secondDatabase, { masterKeys: server.accounts.masterKeys });
secondProcess.revocations.start();
afterAll(async () => {
  await secondProcess.revocations.close();
  await secondDatabase.close();
});

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const verifyElsewhere = (token: string) =>
  codeOf(secondProcess.tokens.verifyAccessToken(world.tenant, token));

describe('a chain of delegation', () => {
  it('nests the older actor in the new one, is about the same user, and remembers all that it came of', async () => {
    const { links } = await world.chain(2);
    const [first, second] = links;
    if (first === undefined || second === undefined) throw new Error('no chain');
    const [before, after] = await Promise.all([first, second].map(({ token }) => world.introspect(token)));
    expect(after).toMatchObject({ active: true, sub: before.sub, subject_type: 'agent' });
    expect(after.delegated_subject).toEqual(before.delegated_subject);
    const named = { name: 'Robot', capabilities: ['web', 'mcp'] };
    expect(after.act).toEqual({
      sub: second.actor.agent.id,
      agent: named,
      act: { sub: first.actor.agent.id, agent: named },
    });
    expect(after.delegation_id).toBe(second.delegation.id);
    expect(new Set(after.derived_from)).toEqual(
      new Set([
        second.actor.tokenId,
        before.jti,
        first.delegation.id,
        first.actor.tokenId,
        ...(await world.issuerKeyIds()),
      ]),
    );
    expect(after.exp).toBeLessThanOrEqual(before.exp);
  });

  it('has at most five actors: the sixth is refused, as is one behind five of a trusted issuer', async () => {
    const { user, token } = await world.chain(5);
    const sixth = await world.newActor();
    await world.delegate(user, sixth.agent.id);
    expect(await world.outcome(token, sixth, asAccessToken)).toBe('400 invalid_request');
    expect(await world.outcome(user.token, sixth)).toBe('accepted');
    const act = (depth: number): object => ({
      sub: `a${depth}`,
      ...(depth > 1 ? { act: act(depth - 1) } : {}),
    });
    const behind = (depth: number) => provider.sign({ sub: user.sub, act: act(depth) });
    expect(await world.outcome(await behind(4), sixth)).toBe('accepted');
    expect(await world.outcome(await behind(5), sixth)).toBe('400 invalid_request');
  });

  it('needs a delegation of the user to each actor', async () => {
    const { token } = await world.chain(1);
    const stranger = await world.newActor();
    expect(await world.outcome(token, stranger, asAccessToken)).toBe('400 invalid_grant');
  });

  it('only ever narrows', async () => {
    const { user, links, token } = await world.chain(1);
    const narrow = await world.newActor({ scopes: ['openid'] });
    const wide = await world.newActor();
    for (const { agent } of [narrow, wide]) await world.delegate(user, agent.id);
    const narrowed = await world.exchange(token, narrow, asAccessToken);
    expect(narrowed.body.scope).toBe('openid');
    expect((await world.exchange(narrowed.token, wide, asAccessToken)).body.scope).toBe('openid');
    expect(await world.outcome(narrowed.token, wide, { ...asAccessToken, scope: 'email' })).toBe(
      '400 invalid_scope',
    );
    expect(links).toHaveLength(1);
  });
});

type Links = Awaited<ReturnType<World['chain']>>['links'];
const linkOf = (links: Links, index: number) => {
  const link = links[index];
  if (link === undefined) throw new Error('no link');
  return link;
};

/** What ends the token of a chain of two, by the link that it concerns. */
const ENDINGS: readonly [string, (link: Links[number]) => Promise<unknown>][] = [
  ['the agent is suspended', ({ actor }) => world.rooms.agents.suspend(world.context, actor.agent.id)],
  ['the agent is deleted', ({ actor }) => world.rooms.agents.remove(world.context, actor.agent.id)],
  [
    'the key of the agent is revoked',
    ({ actor }) => world.rooms.keys.revoke(world.context, actor.agent.id, actor.key.id),
  ],
  [
    'the delegation is revoked',
    ({ delegation }) => world.rooms.delegations.revoke(world.context, delegation.id),
  ],
  ['the agent’s own token is revoked', ({ actor }) => revoke(actor.accessToken)],
  ['the agent’s refresh token is revoked', ({ actor }) => revoke(actor.refreshToken)],
  ['the delegated token is revoked', ({ token }) => revoke(token)],
];

async function revoke(token: string): Promise<void> {
  const { status } = await fetch(`${world.tenant.issuerUrl}/oauth/revoke`, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      authorization: world.client.authorization,
    },
    body: new URLSearchParams({ token }).toString(),
  });
  expect(status).toBe(200);
}

describe.each([
  ['first', 0],
  ['last', 1],
])('when, of the %s link of two,', (_name, index) => {
  it.each(ENDINGS)(
    '%s, the token is dead within a second in every process, and good for no exchange',
    async (_ending, end) => {
      const { user, links, token } = await world.chain(2);
      const third = await world.newActor();
      await world.delegate(user, third.agent.id);
      expect(await world.introspect(token)).toMatchObject({ active: true });
      expect(await world.outcome(token, third, asAccessToken)).toBe('accepted');
      expect(await verifyElsewhere(token)).toBe('accepted');
      await end(linkOf(links, index));
      expect(await lastAccepted(() => verifyElsewhere(token))).toBeLessThan(1_000);
      expect(await verifyElsewhere(token)).toBe('token_revoked');
      expect(await world.introspect(token)).toEqual({ active: false });
      expect(await world.outcome(token, third, asAccessToken)).toBe('400 invalid_request');
    },
  );
});

describe('a delegated token also ends', () => {
  it('with the application that got it', async () => {
    const { application, authorization } = await world.newApplication();
    const actor = await world.newActor();
    const user = await world.newUser();
    await world.delegate(user, actor.agent.id);
    const sent = { subject_token: user.token, actor_token: actor.accessToken };
    const { body } = await world.ask(sent, { authorization });
    expect(await world.introspect(body.access_token)).toMatchObject({ active: true });
    await world.rooms.applications.remove(world.context, application.id);
    expect(await world.introspect(body.access_token)).toEqual({ active: false });
  });

  it('with the agent that it is about', async () => {
    const [first, second] = [await world.newActor(), await world.newActor()];
    await world.delegate({ issuer: world.tenant.issuerUrl, sub: first.agent.id }, second.agent.id);
    const { token } = await world.exchange(first.accessToken, second, asAccessToken);
    await world.rooms.agents.suspend(world.context, first.agent.id);
    expect(await world.introspect(token)).toEqual({ active: false });
    await world.rooms.agents.reactivate(world.context, first.agent.id);
    expect(await world.introspect(token)).toEqual({ active: false });
  });

  it('for good: nothing revives it when its agent is active again, and a new exchange needs new tokens', async () => {
    const { user, links, token } = await world.chain(1);
    const { actor } = linkOf(links, 0);
    await world.rooms.agents.suspend(world.context, actor.agent.id);
    await world.rooms.agents.reactivate(world.context, actor.agent.id);
    expect(await world.introspect(token)).toEqual({ active: false });
    expect(await world.outcome(user.token, actor)).toBe('400 invalid_request');
    await letClockMove();
    const owner = { agentId: actor.agent.id, keyId: actor.key.id };
    const fresh = await issueFirst(world.rooms, world.context, owner);
    expect(await world.outcome(user.token, fresh)).toBe('accepted');
  });

  it('when its delegation is revoked while it is being issued: no token of that delegation lives on', async () => {
    const actor = await world.newActor();
    const user = await world.newUser();
    const { id } = await world.delegate(user, actor.agent.id);
    const exchanges = Array.from({ length: 30 }, async (_, index) => {
      await pause(index * 3);
      const sent = { subject_token: user.token, actor_token: actor.accessToken };
      return (await world.ask(sent)).body.access_token as string | undefined;
    });
    await exchanges[5];
    await world.rooms.delegations.revoke(world.context, id);
    const issued = (await Promise.all(exchanges)).filter((token) => token !== undefined);
    expect(issued.length).toBeGreaterThan(0);
    for (const token of issued) expect(await world.introspect(token)).toEqual({ active: false });
    expect(await world.outcome(user.token, actor)).toBe('400 invalid_grant');
  });
});

it('a process that has not heard of a revocation yet refuses the exchange all the same', async () => {
  const actor = await world.newActor();
  const user = await world.newUser();
  await world.delegate(user, actor.agent.id);
  const { revocations } = world.rooms;
  revocations.start();
  await pause(300);
  // Committed behind the back of this process: its memory does not have it, the database does.
  await test.database.query(
    "INSERT INTO revocations (tenant_id, token_id, expires_at) VALUES ($1, $2, now() + interval '1 hour')",
    [world.tenant.id, actor.tokenId],
  );
  const refused = await world.outcome(user.token, actor);
  await revocations.close();
  expect(refused).toBe('400 invalid_request');
});

describe('the revocation of an issuer key', () => {
  it('ends what was exchanged for a token that it had signed, though another key signed that', async () => {
    const other = await createWorld(server, provider);
    const { rooms, tenant, context } = other;
    const { issuerKeys, issuerRotation } = rooms;
    const [actor, user] = [await other.newActor(), await other.newUser()];
    await other.delegate(user, actor.agent.id);
    await issuerRotation.perform({ tenantId: tenant.id }, 'publish');
    await test.database.query(
      "UPDATE issuer_keys SET created_at = created_at - interval '10 min' WHERE tenant_id = $1",
      [tenant.id],
    );
    const { keys } = await issuerKeys.rotate(context);
    const { token } = await other.exchange(user.token, actor);
    const kid = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid;
    expect(keys.map((key) => key.kid)).toEqual([expect.not.stringMatching(kid), kid]);
    const verify = (accounts: Pick<Accounts, 'tokens'>) =>
      codeOf(accounts.tokens.verifyAccessToken(tenant, token));
    expect(await verify(rooms)).toBe('accepted');
    await issuerKeys.revoke(context, keys[0]?.kid ?? '', { reason: 'stolen' });
    expect(await verify(rooms)).toBe('token_revoked');
    expect(await lastAccepted(() => verify(secondProcess))).toBeLessThan(1_000);
    expect(await verify(secondProcess)).toBe('token_revoked');
    expect(await other.outcome(user.token, actor)).toBe('400 invalid_request');
  });
});

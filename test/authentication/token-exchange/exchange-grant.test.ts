// Token exchange over HTTP: what is granted, and what is refused with which code.
import { describe, expect, it } from 'vitest';
import { ISSUED_TOKEN_TYPE, TOKEN_TYPES } from '../../../src/authentication/tokens/grant-types.ts';
import { readAudit, readEvents } from '../../identity/agents/agent-rooms.ts';
import { claimsOf, issueFirst } from '../tokens/refresh-fixture.ts';
import { ISSUER } from '../trusted-issuers/identity-provider.ts';
import { type Actor, createWorld, useExchange, type World } from './exchange-fixture.ts';

const { test, server, provider, world, actor, newDelegator } = await useExchange();

const now = () => Math.floor(Date.now() / 1000);

describe('an agent or an application with dpop_bound_access_tokens', () => {
  it('exchanges nothing without a proof', async () => {
    const refused = { status: 400, body: { error: 'invalid_dpop_proof' } };
    const strict = await world.newActor();
    const user = await world.newUser();
    await world.delegate(user, strict.agent.id);
    const sent = { subject_token: user.token, actor_token: strict.accessToken };
    expect((await world.ask(sent)).status).toBe(200);
    const application = await world.newApplication({ dpopBoundAccessTokens: true });
    expect(await world.ask(sent, { authorization: application.authorization })).toMatchObject(refused);
    const { rows } = await test.database.query(
      'UPDATE agents SET dpop_bound_access_tokens = true WHERE id = $1 RETURNING id',
      [strict.agent.id],
    );
    expect(rows).toHaveLength(1);
    expect(await world.ask(sent)).toMatchObject(refused);
  });
});

describe('a delegated token', () => {
  it('says who acts for whom, is nobody’s session, and comes without a refresh token', async () => {
    const user = await newDelegator();
    const { status, headers, body } = await world.ask({
      subject_token: user.token,
      actor_token: actor.accessToken,
    });
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(body).toEqual({
      access_token: expect.any(String),
      issued_token_type: ISSUED_TOKEN_TYPE,
      token_type: 'Bearer',
      expires_in: expect.any(Number),
      scope: 'email openid profile',
    });
    const { tenant } = world;
    const claims = claimsOf(body.access_token);
    const { sub } = claims;
    expect(sub).toMatch(/^[0-9a-f-]{36}$/);
    expect(claims).toEqual({
      iss: tenant.issuerUrl,
      sub,
      aud: tenant.audience,
      iat: expect.any(Number),
      exp: Number(claims.iat) + body.expires_in,
      jti: expect.any(String),
      scope: 'email openid profile',
      client_id: world.client.application.id,
      subject_type: 'agent',
      tenant_id: tenant.id,
      delegated_subject: { iss: ISSUER, sub: user.sub },
      act: { sub: actor.agent.id, agent: { name: 'Robot', capabilities: ['web', 'mcp'] } },
      delegation_id: user.delegation.id,
      derived_from: [actor.tokenId, ...(await world.issuerKeyIds())],
    });
    expect(user.delegation.id).not.toBe(sub);
    const again = await world.exchange(await provider.sign({ sub: user.sub }), actor);
    expect(again.claims.sub).toBe(sub);
  });

  it('leaves one audit row and one event, in which the agent is the actor and the user is no name', async () => {
    const own = await createWorld(server, provider);
    const robot = await own.newActor();
    const user = await own.newUser();
    const { id } = await own.delegate(user, robot.agent.id);
    const { claims, body } = await own.exchange(user.token, robot);
    const isIssued = ({ action, type }: { action?: string; type?: string }) =>
      [action, type].includes('auth.token.issued');
    const facts = {
      method: 'token_exchange',
      scope: body.scope,
      audience: own.tenant.audience,
      client_id: own.client.application.id,
      delegation_id: id,
      subject_id: claims.sub,
      actor_token_id: robot.tokenId,
    };
    const audit = (await readAudit(test.database, own.tenant.id)).filter(isIssued);
    expect(audit).toEqual([
      expect.objectContaining({
        outcome: 'success',
        actor_kind: 'agent',
        actor_id: robot.agent.id,
        target_type: 'delegation',
        target_id: id,
        token_id: claims.jti,
        data: facts,
      }),
    ]);
    const events = (await readEvents(test.database, own.tenant.id)).filter(isIssued);
    expect(events).toEqual([
      {
        type: 'auth.token.issued',
        data: {
          ...facts,
          agent_id: robot.agent.id,
          token_id: claims.jti,
          expires_in: body.expires_in,
          actors: [robot.agent.id],
        },
      },
    ]);
    expect(JSON.stringify([audit, events])).not.toContain(user.sub);
  });

  it('may be for the delegation’s audience, else for one of the agent’s, and for no other', async () => {
    const [api, other] = ['https://api.example/v1', 'urn:other'];
    const robot = await world.newActor();
    const reach = (audiences: string[]) =>
      world.rooms.agents.update(world.context, robot.agent.id, { audiences });
    await reach([api]);
    const free = await world.newUser();
    await world.delegate(free, robot.agent.id);
    expect((await world.exchange(free.token, robot)).claims.aud).toBe(world.tenant.audience);
    expect((await world.exchange(free.token, robot, { resource: api })).claims.aud).toBe(api);
    expect((await world.exchange(free.token, robot, { audience: api })).claims.aud).toBe(api);
    expect(await world.outcome(free.token, robot, { audience: other })).toBe('400 invalid_target');
    const bound = await world.newUser();
    await expect(world.delegate(bound, robot.agent.id, { audience: other })).rejects.toMatchObject({
      errors: [{ path: 'body.audience' }],
    });
    await reach([api, other]);
    await world.delegate(bound, robot.agent.id, { audience: other });
    expect((await world.exchange(bound.token, robot)).claims.aud).toBe(other);
    expect(await world.outcome(bound.token, robot, { resource: api })).toBe('400 invalid_target');
    await reach([api]);
    const { accessToken } = await issueFirst(world.rooms, world.context, {
      agentId: robot.agent.id,
      keyId: robot.key.id,
    });
    expect(await world.outcome(bound.token, { accessToken })).toBe('400 invalid_target');
    expect(await world.outcome(bound.token, { accessToken }, { audience: other })).toBe('400 invalid_target');
  });

  it('ends no later than the user’s token, the agent’s, the delegation, and any access token', async () => {
    const usual = await world.exchange((await newDelegator()).token, actor);
    expect(usual.claims.exp).toBeLessThanOrEqual(Number(claimsOf(actor.accessToken).exp));
    const exp = now() + 100;
    expect((await world.exchange((await newDelegator({}, { exp })).token, actor)).claims.exp).toBe(exp);
    const expiresAt = new Date(Date.now() + 90_500);
    const short = await world.exchange((await newDelegator({ expiresAt })).token, actor);
    expect(short.claims.exp).toBe(Math.floor(expiresAt.getTime() / 1000));
    expect(short.body.expires_in).toBeLessThanOrEqual(91);
  });
});

describe('the scopes of a delegated token', () => {
  it('are those asked for, within what everybody allows', async () => {
    const user = await newDelegator();
    expect((await world.exchange(user.token, actor, { scope: 'openid email' })).body.scope).toBe(
      'email openid',
    );
    for (const scope of ['wallet:sign', 'openid wallet:sign', 'agents:read', 'ä'])
      expect(await world.outcome(user.token, actor, { scope })).toBe('400 invalid_scope');
  });

  it.each<[string, () => Promise<readonly [World, Actor, string]>]>([
    [
      'the delegation',
      async () => [world, actor, (await newDelegator({ scopes: ['openid'] })).token] as const,
    ],
    [
      'the user’s token',
      async () => [world, actor, (await newDelegator({}, { scope: 'openid x' })).token] as const,
    ],
    [
      'the agent’s token',
      async () => {
        const robot = await world.newActor({ scopes: ['openid'] });
        const user = await world.newUser();
        await world.delegate(user, robot.agent.id);
        return [world, robot, user.token] as const;
      },
    ],
    [
      'the agent, narrowed since its token was issued',
      async () => {
        const robot = await world.newActor();
        const user = await world.newUser();
        await world.delegate(user, robot.agent.id);
        // By hand, because a change by the service ends the agent's token.
        await world.rooms.database.query("UPDATE agents SET scopes = '{openid}' WHERE id = $1", [
          robot.agent.id,
        ]);
        return [world, robot, user.token] as const;
      },
    ],
    [
      'the application',
      async () => {
        const own = await createWorld(server, provider, { scopes: ['openid', 'agents:read'] });
        const robot = await own.newActor();
        const user = await own.newUser();
        await own.delegate(user, robot.agent.id);
        return [own, robot, user.token] as const;
      },
    ],
  ])('never go beyond %s', async (_name, narrow) => {
    const [own, robot, token] = await narrow();
    expect((await own.exchange(token, robot)).body.scope).toBe('openid');
    expect(await own.outcome(token, robot, { scope: 'openid email' })).toBe('400 invalid_scope');
  });

  it.each(['other', '', null])('are refused when the user’s token leaves none: %j', async (scope) => {
    const user = await newDelegator({}, { scope });
    expect(await world.outcome(user.token, actor)).toBe('400 invalid_scope');
  });
});

describe('the parameters', () => {
  it.each<[string, Record<string, string | undefined>, string]>([
    ['no subject_token', { subject_token: undefined }, '400 invalid_request'],
    ['no subject_token_type', { subject_token_type: undefined }, '400 invalid_request'],
    ['no actor_token', { actor_token: undefined, actor_token_type: undefined }, '400 invalid_request'],
    ['actor_token without its type', { actor_token_type: undefined }, '400 invalid_request'],
    ['actor_token_type without a token', { actor_token: undefined }, '400 invalid_request'],
    ['an unknown subject_token_type', { subject_token_type: 'saml' }, '400 invalid_request'],
    ['an agent’s ID token', { actor_token_type: TOKEN_TYPES.idToken }, '400 invalid_request'],
    [
      'a refresh token as what is wanted',
      { requested_token_type: 'urn:ietf:params:oauth:token-type:refresh_token' },
      '400 invalid_request',
    ],
    ['a resource with a fragment', { resource: 'https://api.example/#x' }, '400 invalid_target'],
    ['two targets', { resource: 'https://a.example', audience: 'https://b.example' }, '400 invalid_target'],
  ])('with %s are refused', async (_name, parameters, expected) => {
    const user = await newDelegator();
    expect(await world.outcome(user.token, actor)).toBe('accepted');
    expect(await world.outcome(user.token, actor, parameters)).toBe(expected);
  });

  it('of client credentials still have no audience', async () => {
    const { authorization } = await world.newApplication({ grantTypes: ['client_credentials'] });
    const sent = { grant_type: 'client_credentials', audience: world.tenant.audience };
    const { status, body } = await world.ask(sent, { authorization });
    expect([status, body.error]).toEqual([400, 'invalid_request']);
  });
});

describe('the application', () => {
  it('must authenticate, and be allowed the grant, before anything else is looked at', async () => {
    const wrong = await world.ask({}, { authorization: world.client.authorization.slice(0, -4) });
    expect([wrong.status, wrong.body.error]).toEqual([401, 'invalid_client']);
    expect(wrong.headers.get('www-authenticate')).toContain('Basic');
    const { authorization } = await world.newApplication({ grantTypes: ['client_credentials'] });
    const refused = await world.ask({}, { authorization });
    expect([refused.status, refused.body.error]).toEqual([400, 'unauthorized_client']);
  });

  it('that is linked to an agent brings that agent only, and nobody while it is suspended or deleted', async () => {
    const user = await newDelegator();
    const stranger = await world.newActor();
    const { authorization } = await world.newApplication({ agentId: stranger.agent.id });
    const ask = async (parameters: Record<string, string>) => {
      const { status, body } = await world.ask(
        { subject_token: user.token, ...parameters },
        { authorization },
      );
      return status === 200 ? 'accepted' : `${status} ${body.error}`;
    };
    await world.delegate(user, stranger.agent.id);
    expect(await ask({ actor_token: stranger.accessToken })).toBe('accepted');
    expect(await ask({ actor_token: actor.accessToken })).toBe('400 invalid_request');
    await world.rooms.agents.suspend(world.context, stranger.agent.id);
    expect(await ask({ actor_token: actor.accessToken })).toBe('403 policy_denied');
    await world.rooms.agents.remove(world.context, stranger.agent.id);
    expect(await ask({ actor_token: actor.accessToken })).toBe('401 invalid_client');
  });

  it('whose exchange is refused is in the audit log each time', async () => {
    const own = await createWorld(server, provider);
    const robot = await own.newActor();
    const user = await own.newUser();
    for (let times = 0; times < 3; times += 1)
      expect(await own.outcome(user.token, robot)).toBe('400 invalid_grant');
    await own.rooms.clientRecords.settled();
    const failures = (await readAudit(test.database, own.tenant.id)).filter(
      ({ action }) => action === 'auth.login.failure',
    );
    const { id } = own.client.application;
    const failure = expect.objectContaining({
      outcome: 'failure',
      reason: 'invalid_grant',
      actor_id: id,
      target_id: id,
      data: expect.objectContaining({ method: 'token_exchange', client_auth: 'client_secret_basic' }),
    });
    expect(failures).toEqual([failure, failure, failure]);
    const told = (await readEvents(test.database, own.tenant.id)).filter(
      ({ type }) => type === 'auth.login.failure',
    );
    expect(told.map(({ data }) => data)).toMatchObject([{ count: 1, reason: 'invalid_grant' }]);
  });
});

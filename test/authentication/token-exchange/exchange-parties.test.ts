// Who takes part in a token exchange over HTTP: agents as actors and as subjects, and the delegation between them.
import { describe, expect, it } from 'vitest';
import { TOKEN_TYPES } from '../../../src/authentication/tokens/grant-types.ts';
import { TOKEN_EXCHANGE_GRANT } from '../../../src/identity/applications/application.ts';
import type { Database } from '../../../src/platform/database/database.ts';
import type { Transaction } from '../../../src/platform/database/transaction.ts';
import { createAccounts } from '../tokens/accounts.ts';
import { issueFirst } from '../tokens/refresh-fixture.ts';
import { ISSUER } from '../trusted-issuers/identity-provider.ts';
import { asAccessToken, createWorld, useExchange } from './exchange-fixture.ts';
import { createExchangeRooms } from './exchange-rooms.ts';

const { test, server, provider, world, actor, newDelegator } = await useExchange();

describe('the actor token', () => {
  it.each<[string, () => Promise<string>]>([
    [
      'of an application',
      async () => {
        const { id } = world.client.application;
        const grant = { sub: id, clientId: id, audience: world.tenant.audience, scopes: ['openid'] };
        return (await world.rooms.tokens.issueAccessToken(world.tenant, grant)).accessToken;
      },
    ],
    ['that is itself delegated', async () => (await world.chain(1)).token],
    ['of a user', async () => (await newDelegator()).token],
    [
      'of another tenant’s agent',
      async () => (await (await createWorld(server, provider)).newActor()).accessToken,
    ],
    ['that was changed', async () => `${actor.accessToken.slice(0, -6)}AAAAAA`],
    [
      'whose agent is suspended',
      async () => {
        const robot = await world.newActor();
        await world.rooms.agents.suspend(world.context, robot.agent.id);
        return robot.accessToken;
      },
    ],
    [
      'whose key was revoked',
      async () => {
        const robot = await world.newActor();
        await world.rooms.keys.revoke(world.context, robot.agent.id, robot.key.id);
        return robot.accessToken;
      },
    ],
    ['that is a refresh token', async () => (await world.newActor()).refreshToken],
  ])('%s is refused as invalid_request', async (_name, make) => {
    const user = await newDelegator();
    expect(await world.outcome(user.token, { accessToken: await make() })).toBe('400 invalid_request');
  });

  it('must be that of the agent whom the user’s token lets act, when it names one', async () => {
    const allowed = await newDelegator({}, { may_act: { sub: actor.agent.id, iss: world.tenant.issuerUrl } });
    expect(await world.outcome(allowed.token, actor)).toBe('accepted');
    for (const may_act of [{ sub: 'somebody' }, { sub: actor.agent.id, iss: ISSUER }, 'x']) {
      const { token } = await newDelegator({}, { may_act });
      expect(await world.outcome(token, actor)).toBe('400 invalid_request');
    }
  });
});

describe('the delegation', () => {
  it('that is not there, or was revoked, is invalid_grant; one that is past its end is delegation_expired', async () => {
    const nobody = await world.newUser();
    expect(await world.outcome(nobody.token, actor)).toBe('400 invalid_grant');
    const other = await world.newActor();
    await world.delegate(nobody, other.agent.id);
    expect(await world.outcome(nobody.token, actor)).toBe('400 invalid_grant');

    const revoked = await newDelegator();
    await world.rooms.delegations.revoke(world.context, revoked.delegation.id);
    expect(await world.outcome(revoked.token, actor)).toBe('400 invalid_grant');

    const expired = await newDelegator();
    await test.database.query(
      "UPDATE delegations SET expires_at = now() - interval '1 second' WHERE id = $1",
      [expired.delegation.id],
    );
    const sent = { subject_token: expired.token, actor_token: actor.accessToken };
    const { status, body } = await world.ask(sent);
    expect([status, body.error, body.type]).toEqual([
      400,
      'delegation_expired',
      'https://errors.example/delegation-expired',
    ]);
  });

  it('of another tenant counts for nothing', async () => {
    const elsewhere = await createWorld(server, provider);
    const robot = await elsewhere.newActor();
    const user = await elsewhere.newUser();
    await elsewhere.delegate(user, robot.agent.id);
    expect(await elsewhere.outcome(user.token, robot)).toBe('accepted');
    expect(await world.outcome(user.token, actor)).toBe('400 invalid_grant');
  });
});

it('an exchange costs a reading of the client, one of the issuer, and a transaction of five round trips', async () => {
  let count = 0;
  const { database } = test;
  const counted = (unit: Pick<Transaction, 'query'>): Transaction['query'] => {
    return (text, values, members) => {
      count += 1;
      return unit.query(text, values, members);
    };
  };
  const counting: Database = {
    ...database,
    query: counted(database),
    transaction: (context, work) =>
      database.transaction(context, (unit) => {
        count += 2; // BEGIN and COMMIT
        return work({ ...unit, query: counted(unit) });
      }),
  };
  const accounts = createAccounts(counting, { masterKeys: server.accounts.masterKeys });
  const rooms = createExchangeRooms(counting, { accounts });
  const { token } = await newDelegator();
  const parameters = {
    grant_type: TOKEN_EXCHANGE_GRANT,
    subject_token: token,
    subject_token_type: TOKEN_TYPES.idToken,
    actor_token: actor.accessToken,
    actor_token_type: TOKEN_TYPES.accessToken,
  };
  const { authorization } = world.client;
  const exchange = () => rooms.tokenEndpoint.requestToken(world.context, { authorization, parameters });
  await exchange(); // reads the list of issuer keys, which then serves for seconds
  count = 0;
  await exchange();
  // The eighth asks whether the actor's token was revoked: a process whose feed reads does not.
  expect(count).toBe(8);
  await rooms.closeExchange();
});

describe('the token of an agent as the subject', () => {
  it('lets another agent act for it, by a delegation of its own, unless it is bound to a key', async () => {
    const first = await world.newActor();
    const subject = { issuer: world.tenant.issuerUrl, sub: first.agent.id };
    const { id, subject: user } = await world.delegate(subject, actor.agent.id);
    const { claims } = await world.exchange(first.accessToken, actor, asAccessToken);
    expect(claims).toMatchObject({
      sub: user.id,
      delegated_subject: { iss: subject.issuer, sub: subject.sub },
      act: { sub: actor.agent.id },
      delegation_id: id,
      derived_from: [actor.tokenId, ...(await world.issuerKeyIds()), first.tokenId, first.agent.id],
    });
    expect(await world.outcome(first.accessToken, actor)).toBe('400 invalid_request');
    const owner = { agentId: first.agent.id, keyId: first.key.id };
    const bound = await issueFirst(world.rooms, world.context, { ...owner, jkt: 'thumbprint' });
    expect(await world.outcome(bound.accessToken, actor, asAccessToken)).toBe('400 invalid_request');
    expect(await world.outcome(first.refreshToken, actor, asAccessToken)).toBe('400 invalid_request');
  });
});

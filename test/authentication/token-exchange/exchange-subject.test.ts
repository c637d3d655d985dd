// The user's token in an exchange over HTTP: of issuers that are trusted, with keys from a real server, and of others.
import { describe, expect, it } from 'vitest';
import { readJwkSet } from '../../../src/authentication/trusted-issuers/jwk-set.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import {
  AUDIENCE,
  answerKeys,
  ISSUER,
  newKey,
  startJwksServer,
} from '../trusted-issuers/identity-provider.ts';
import { asAccessToken, createWorld, useExchange } from './exchange-fixture.ts';

const { server, provider, world, actor } = await useExchange();

const now = () => Math.floor(Date.now() / 1000);

const user = await world.newUser();
await world.delegate(user, actor.agent.id);

const sign = (claims: Record<string, unknown> = {}) => provider.sign({ sub: user.sub, ...claims });

describe('a user’s token', () => {
  it.each<[string, () => Promise<string>]>([
    ['that has expired', () => sign({ exp: now() - 1 })],
    ['for an audience that was not agreed', () => sign({ aud: 'https://x.example' })],
    ['of an issuer that nobody trusts', () => sign({ iss: 'https://other.example' })],
    ['that claims to be of this issuer', () => sign({ iss: world.tenant.issuerUrl })],
    ['that is bound to a key', () => sign({ cnf: { jkt: 'x' } })],
    ['signed by somebody else', async () => (await newKey()).sign({ sub: user.sub })],
    ['that is no token', async () => 'x'],
    ['whose actors are malformed', () => sign({ act: { sub: 7 } })],
    [
      'whose actors are an agent of ours that cannot be',
      () => sign({ act: { sub: 'x', iss: world.tenant.issuerUrl } }),
    ],
  ])('%s is refused as invalid_request', async (_name, make) => {
    expect(await world.outcome(await sign(), actor)).toBe('accepted');
    expect(await world.outcome(await make(), actor)).toBe('400 invalid_request');
  });

  it('is refused as an agent’s own token of another tenant is', async () => {
    const elsewhere = await createWorld(server, provider);
    const { accessToken } = await elsewhere.newActor();
    expect(await world.outcome(accessToken, actor, asAccessToken)).toBe('400 invalid_request');
  });

  it('brings the actors that its issuer names, as that issuer’s', async () => {
    const act = { sub: 'assistant', agent: { name: 'x', capabilities: [] }, act: { sub: 'older' } };
    const { claims } = await world.exchange(await sign({ act }), actor);
    expect(claims.act).toEqual({
      sub: actor.agent.id,
      agent: { name: 'Robot', capabilities: ['web', 'mcp'] },
      act: { sub: 'assistant', iss: ISSUER, act: { sub: 'older', iss: ISSUER } },
    });
  });

  it('is refused when it names an agent of ours that is suspended, or that never was', async () => {
    const between = await world.newActor();
    const act = { sub: between.agent.id, iss: world.tenant.issuerUrl };
    const { claims } = await world.exchange(await sign({ act }), actor);
    expect(claims.act).toMatchObject({ sub: actor.agent.id, act: { sub: between.agent.id } });
    await world.rooms.agents.suspend(world.context, between.agent.id);
    expect(await world.outcome(await sign({ act }), actor)).toBe('403 policy_denied');
    const nobody = { ...act, sub: newId() };
    expect(await world.outcome(await sign({ act: nobody }), actor)).toBe('403 policy_denied');
  });
});

it('names that would make the token larger than 8 KiB are refused, because nobody could use it', async () => {
  const own = await createWorld(server, provider);
  const issuer = `https://idp.example/${'i'.repeat(480)}`;
  await own.rooms.trustedIssuers.create(own.context, {
    issuer,
    jwksUri: provider.uri,
    audiences: [AUDIENCE],
  });
  const robot = await own.newActor();
  const capabilities = Array.from({ length: 28 }, (_, index) => `${index}-${'c'.repeat(96)}`);
  const audience = 'a'.repeat(500);
  await own.rooms.agents.update(own.context, robot.agent.id, { capabilities, audiences: [audience] });
  const sub = '語'.repeat(255);
  await own.delegate({ issuer, sub }, robot.agent.id, { audience });
  const signAs = (claims: object) => provider.sign({ iss: issuer, sub, ...claims });
  const { token } = await own.exchange(await signAs({}), robot);
  expect(token.length).toBeGreaterThan(7_000);
  expect(await own.introspect(token)).toMatchObject({ active: true });
  const sent = {
    subject_token: await signAs({ act: { sub: 'x'.repeat(500) } }),
    actor_token: robot.accessToken,
  };
  const { status, body } = await own.ask(sent);
  expect([status, body.error]).toEqual([400, 'invalid_request']);
  expect(body.detail).toContain('too large');
});

describe('an issuer', () => {
  it('whose keys cannot be had is 503 with Retry-After, and nothing of the inside is told', async () => {
    const broken = await startJwksServer((_request, response) => response.writeHead(500).end('inside'));
    const own = await createWorld(server, { ...provider, uri: broken.uri });
    const robot = await own.newActor();
    const sent = { subject_token: await sign(), actor_token: robot.accessToken };
    const { status, headers, body } = await own.ask(sent);
    expect([status, body.error]).toEqual([503, 'temporarily_unavailable']);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    expect(JSON.stringify(body)).not.toMatch(/127\.0\.0\.1|inside|500/);
    await broken.close();
  });

  it('may have inline keys', async () => {
    const own = await createWorld(server, provider);
    const { data } = await own.rooms.trustedIssuers.list(own.context, { limit: 1 });
    const keys = readJwkSet({ keys: [provider.jwk] }) ?? [];
    await own.rooms.trustedIssuers.update(own.context, data[0]?.id ?? '', { jwks: { keys } });
    const robot = await own.newActor();
    const known = await own.newUser();
    await own.delegate(known, robot.agent.id);
    expect(await own.outcome(known.token, robot)).toBe('accepted');
  });

  it('is known by the tenant that trusts it only', async () => {
    const other = await newKey('ES256', 'other');
    const keys = await startJwksServer(answerKeys([other.jwk]));
    const elsewhere = await createWorld(server, provider);
    const second = { issuer: 'https://second.example', jwksUri: keys.uri, audiences: [AUDIENCE] };
    await elsewhere.rooms.trustedIssuers.create(elsewhere.context, second);
    const subject = { issuer: second.issuer, sub: 'ada' };
    await world.delegate(subject, actor.agent.id);
    const token = await other.sign({ iss: second.issuer });
    expect(await world.outcome(token, actor)).toBe('400 invalid_request');
    const robot = await elsewhere.newActor();
    await elsewhere.delegate(subject, robot.agent.id);
    expect(await elsewhere.outcome(token, robot)).toBe('accepted');
    await keys.close();
  });
});

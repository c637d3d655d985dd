// The `resource` parameter (RFC 8707): an agent says for which of its audiences it authenticates, and gets a token for
// no other one.
import pg from 'pg';
import { describe, expect, it, vi } from 'vitest';
import { createTestAgent } from '../../identity/agents/agent-rooms.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { useAccountsServer } from '../tokens/accounts-server.ts';
import { claimsOf, codeOf, createHolder, refresh } from '../tokens/refresh-fixture.ts';
import { answer } from './answer.ts';

const { test, server } = await useAccountsServer();

const ONE = 'https://one.example/api';
const TWO = 'https://two.example/api';

const { rooms } = server;

/** An agent with two further audiences, and how it asks for a challenge. */
async function prepare() {
  const holder = await createHolder(rooms);
  const { context, agent, fingerprint } = holder;
  await rooms.agents.update(context, agent.id, { audiences: [ONE, TWO] });
  const ask = async (resource?: string) => {
    const input = { keyFingerprint: fingerprint, scope: 'openid', resource };
    return (await rooms.challenges.issue(context, input)).challenge;
  };
  const narrow = (audiences: string[]) => rooms.agents.update(context, agent.id, { audiences });
  return { ...holder, ask, narrow };
}

const post = (issuerUrl: string, resource: unknown, keyFingerprint: string) =>
  server.send('POST', `${issuerUrl}/auth/agent/challenge`, undefined, {
    key_fingerprint: keyFingerprint,
    scope: 'openid',
    resource,
  });

describe('a challenge with a resource', () => {
  it.each([
    ['that audience', TWO, TWO],
    ["the agent's own audience without one", undefined, undefined],
  ])('leads to tokens for %s, and to a family of it', async (_, resource, expected) => {
    const { context, ask, ...signer } = await prepare();
    const usual = expected ?? context.tenant.audience;
    const challenge = await ask(resource);
    expect(challenge.audience).toBe(context.tenant.issuerUrl);
    const granted = await rooms.challenges.verify(context, answer(challenge, signer));
    expect(claimsOf(granted.accessToken).aud).toBe(usual);
    const next = await refresh(rooms, context, granted.refreshToken);
    expect(claimsOf(next.access_token).aud).toBe(usual);
    const other = await refresh(rooms, context, next.refresh_token, { resource: ONE });
    expect(claimsOf(other.access_token).aud).toBe(ONE);
    const back = await refresh(rooms, context, other.refresh_token);
    expect(claimsOf(back.access_token).aud).toBe(usual);
  });

  it('is refused over HTTP where it names no audience of the agent, and where it is no text', async () => {
    const { context, fingerprint } = await prepare();
    const { issuerUrl } = context.tenant;
    expect((await post(issuerUrl, TWO, fingerprint)).status).toBe(200);
    for (const resource of ['https://evil.example', `${TWO}/`, '', 'no address']) {
      const refused = await post(issuerUrl, resource, fingerprint);
      expect([resource, refused.status, refused.body.error]).toEqual([resource, 400, 'invalid_target']);
    }
    for (const resource of [5, [TWO], null, `${TWO}\0`]) {
      const refused = await post(issuerUrl, resource, fingerprint);
      expect([refused.status, refused.body.error]).toEqual([400, 'invalid_request']);
    }
  });

  it('is refused at the verification once the agent has lost that audience, and is not spent by it', async () => {
    const { context, ask, narrow, ...signer } = await prepare();
    const challenge = await ask(TWO);
    await narrow([ONE]);
    const verify = () => rooms.challenges.verify(context, answer(challenge, signer));
    expect(await codeOf(verify())).toBe('invalid_target');
    await narrow([TWO]);
    expect(claimsOf((await verify()).accessToken).aud).toBe(TWO);
  });

  it('gives nothing when the audience is lost between the check and the use', async () => {
    const { context, ask, narrow, ...signer } = await prepare();
    const challenge = await ask(TWO);
    const { verifySignature } = rooms.verifier;
    const verifier = vi.spyOn(rooms.verifier, 'verifySignature').mockImplementationOnce(async (input) => {
      await narrow([ONE]);
      return verifySignature(input);
    });
    expect(await codeOf(rooms.challenges.verify(context, answer(challenge, signer)))).toBe('invalid_target');
    expect(verifier).toHaveBeenCalledOnce();
    verifier.mockRestore();
    const { rows } = await test.database.query('SELECT consumed_at FROM challenges WHERE id = $1', [
      challenge.id,
    ]);
    expect(rows).toEqual([{ consumed_at: null }]);
  });

  it("follows the agent's own audience while no resource was named", async () => {
    const { context, agent, ask, ...signer } = await prepare();
    const challenge = await ask();
    await rooms.agents.update(context, agent.id, { audience: ONE });
    const granted = await rooms.challenges.verify(context, answer(challenge, { ...signer }));
    expect(claimsOf(granted.accessToken).aud).toBe(ONE);
  });

  it('costs no further round trip', async () => {
    const { context, ask, ...signer } = await prepare();
    await rooms.challenges.verify(context, answer(await ask(TWO), signer));
    await vi.waitUntil(
      async () => (await rooms.keys.get(context, signer.agent.id, signer.key.id)).lastUsedAt,
      PATIENCE,
    );
    const query = vi.spyOn(pg.Client.prototype, 'query');
    try {
      const challenge = await ask(TWO);
      await rooms.challenges.verify(context, answer(challenge, signer));
      expect(query.mock.calls.length).toBe(4);
    } finally {
      query.mockRestore();
    }
  });
});

it('is refused by the token endpoint when it comes twice', async () => {
  const { context, refreshToken } = await createHolder(rooms);
  const form = `grant_type=refresh_token&refresh_token=${refreshToken}&resource=${ONE}&resource=${TWO}`;
  const response = await server.requestToken(context.tenant.issuerUrl, form);
  expect([response.status, (await response.json()).error]).toEqual([400, 'invalid_request']);
  expect(await codeOf(refresh(rooms, context, refreshToken))).toBe('accepted');
});

it("is never another agent's audience", async () => {
  const { context, ask } = await prepare();
  const stranger = await createTestAgent(rooms, context);
  await rooms.agents.update(context, stranger.agent.id, { audiences: ['https://theirs.example'] });
  expect(await codeOf(ask('https://theirs.example'))).toBe('invalid_target');
});

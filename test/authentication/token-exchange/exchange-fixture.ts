// A tenant that trusts an identity provider, with an application that may exchange tokens, agents, users and what users
// delegate.
import { afterAll } from 'vitest';
import { TOKEN_TYPES } from '../../../src/authentication/tokens/grant-types.ts';
import { TOKEN_EXCHANGE_GRANT } from '../../../src/identity/applications/application.ts';
import { AGENT_SCOPES } from '../../../src/platform/scopes.ts';
import { createTestAgent, createTestTenant } from '../../identity/agents/agent-rooms.ts';
import { basic, requestTo } from '../tokens/accounts.ts';
import { type AccountsServer, useAccountsServer } from '../tokens/accounts-server.ts';
import { claimsOf, issueFirst } from '../tokens/refresh-fixture.ts';
import {
  AUDIENCE,
  answerKeys,
  ISSUER,
  newKey,
  startJwksServer,
} from '../trusted-issuers/identity-provider.ts';

const HOUR = 3_600_000;
let users = 0;

/** An identity provider whose keys are served on loopback. */
export async function startProvider() {
  const key = await newKey();
  const server = await startJwksServer(answerKeys([key.jwk]));
  return { ...key, uri: server.uri, close: server.close };
}

export type Provider = Awaited<ReturnType<typeof startProvider>>;
export type World = Awaited<ReturnType<typeof createWorld>>;
export type Actor = Awaited<ReturnType<World['newActor']>>;

/** @param options of the application */
export async function createWorld(
  server: AccountsServer,
  provider: Provider,
  options: { scopes?: readonly string[]; agentId?: string } = {},
) {
  const { rooms } = server;
  const context = await createTestTenant(rooms);
  const { tenant } = context;
  await rooms.trustedIssuers.create(context, {
    issuer: ISSUER,
    jwksUri: provider.uri,
    audiences: [AUDIENCE],
  });

  const newApplication = async (input: Partial<Parameters<typeof rooms.applications.create>[1]> = {}) => {
    const { application, clientSecret } = await rooms.applications.create(requestTo(tenant), {
      name: 'Exchanger',
      scopes: options.scopes ?? AGENT_SCOPES,
      grantTypes: [TOKEN_EXCHANGE_GRANT],
      ...input,
    });
    return { application, clientSecret, authorization: basic(application.id, clientSecret) };
  };
  const client = await newApplication();

  /** An agent with a key and an access token of its own. */
  async function newActor(token: { scopes?: readonly string[]; jkt?: string } = {}) {
    const { agent, key } = await createTestAgent(rooms, context);
    const scopes = token.scopes ?? ['email', 'openid', 'profile'];
    const issued = await issueFirst(rooms, context, { agentId: agent.id, keyId: key.id, ...token, scopes });
    return { agent, key, ...issued };
  }

  /** A user of the provider, with a token. */
  async function newUser(claims: Record<string, unknown> = {}) {
    const sub = `user-${++users}`;
    return { issuer: ISSUER, sub, token: await provider.sign({ sub, ...claims }) };
  }

  /**
   * Ids of what has signed the tenant's tokens: a delegated one comes of the keys of those that were exchanged, too.
   */
  async function issuerKeyIds(): Promise<string[]> {
    const { rows } = await rooms.database.query<{ id: string }>(
      'SELECT id FROM issuer_keys WHERE tenant_id = $1',
      [context.tenant.id],
    );
    return rows.map(({ id }) => id);
  }

  const delegate = (
    subject: { readonly issuer: string; readonly sub: string },
    agentId: string,
    input: { scopes?: readonly string[]; audience?: string; expiresAt?: Date } = {},
  ) =>
    rooms.delegations.create(context, {
      subject: { issuer: subject.issuer, sub: subject.sub },
      agentId,
      scopes: input.scopes ?? ['email', 'openid', 'profile'],
      audience: input.audience,
      expiresAt: input.expiresAt ?? new Date(Date.now() + HOUR),
    });

  /** Asks for an exchange; a parameter that is undefined is left out. */
  async function ask(
    parameters: Record<string, string | undefined>,
    headers: Record<string, string> = { authorization: client.authorization },
  ) {
    const sent = Object.entries({
      grant_type: TOKEN_EXCHANGE_GRANT,
      subject_token_type: TOKEN_TYPES.idToken,
      actor_token_type: TOKEN_TYPES.accessToken,
      ...parameters,
    }).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const response = await server.requestToken(
      tenant.issuerUrl,
      new URLSearchParams(sent).toString(),
      headers,
    );
    return { status: response.status, headers: response.headers, body: await response.json() };
  }

  /** Exchanges a user's token. @returns the delegated token with its claims */
  async function exchange(
    subjectToken: string,
    actor: { readonly accessToken: string },
    parameters: Record<string, string | undefined> = {},
  ) {
    const { status, body } = await ask({
      subject_token: subjectToken,
      actor_token: actor.accessToken,
      ...parameters,
    });
    if (status !== 200) throw new Error(`${status} ${body.error}: ${body.detail}`);
    const token: string = body.access_token;
    return { token, body, claims: claimsOf(token) };
  }

  /** The status and code of an exchange. */
  const outcome = async (
    subjectToken: string,
    actor: { readonly accessToken: string },
    parameters: Record<string, string | undefined> = {},
  ): Promise<string> => {
    const sent = { subject_token: subjectToken, actor_token: actor.accessToken, ...parameters };
    const { status, body } = await ask(sent);
    return status === 200 ? 'accepted' : `${status} ${body.error}`;
  };

  /** A chain of delegation: each actor exchanges the token of the one before. @returns the tokens, the last one last */
  async function chain(depth: number) {
    const user = await newUser();
    const links: {
      actor: Awaited<ReturnType<typeof newActor>>;
      delegation: { readonly id: string };
      token: string;
    }[] = [];
    let [token, type]: [string, string] = [user.token, TOKEN_TYPES.idToken];
    for (let level = 0; level < depth; level += 1) {
      const actor = await newActor();
      const delegation = await delegate(user, actor.agent.id);
      ({ token } = await exchange(token, actor, { subject_token_type: type }));
      type = TOKEN_TYPES.accessToken;
      links.push({ actor, delegation, token });
    }
    return { user, links, token };
  }

  const introspect = async (token: string) => {
    const response = await fetch(`${tenant.issuerUrl}/oauth/introspect`, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        authorization: client.authorization,
      },
      body: new URLSearchParams({ token }).toString(),
    });
    return response.json();
  };

  return {
    rooms,
    context,
    tenant,
    client,
    newApplication,
    newActor,
    newUser,
    issuerKeyIds,
    delegate,
    ask,
    exchange,
    outcome,
    chain,
    introspect,
  };
}

/** An access token as the subject of an exchange. */
export const asAccessToken = { subject_token_type: TOKEN_TYPES.accessToken };

/** The rig of a file's cases: a database, a server, a provider of users' tokens, a tenant and an agent that acts. */
export async function useExchange() {
  const { test, server } = await useAccountsServer();
  const provider = await startProvider();
  afterAll(() => provider.close());
  const world = await createWorld(server, provider);
  const actor = await world.newActor();
  /** A user who has delegated to the actor. */
  const newDelegator = async (
    delegation: Parameters<World['delegate']>[2] = {},
    claims: Record<string, unknown> = {},
  ) => {
    const user = await world.newUser(claims);
    return { ...user, delegation: await world.delegate(user, actor.agent.id, delegation) };
  };
  return { test, server, provider, world, actor, newDelegator };
}

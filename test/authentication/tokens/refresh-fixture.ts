// Agents that hold refresh tokens, and the requests that use them.
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TokenAnswer } from '../../../src/authentication/tokens/token-answer.ts';
import type { RequestContext } from '../../../src/platform/context.ts';
import type { ServiceError } from '../../../src/platform/errors/service-error.ts';
import {
  createRooms,
  createTestAgent,
  createTestTenant,
  type Rooms,
} from '../../identity/agents/agent-rooms.ts';
import { createPatientDatabase, createTestDatabase } from '../../setup/database.ts';
import { createAccounts } from './accounts.ts';
import { storeRefreshToken } from './new-refresh-token.ts';

/** The rooms in two processes' stead: two pools, one database, the same master keys. `sql` reads the database. */
export async function createTwoProcesses() {
  const test = await createTestDatabase();
  const other = createPatientDatabase({ url: test.url, pool: 10, applicationName: 'other' });
  const masterKeys = [{ id: 'test', key: randomBytes(32) }];
  const [one, two] = [test.database, other].map((database) =>
    createRooms(database, { accounts: createAccounts(database, { masterKeys }) }),
  );
  if (one === undefined || two === undefined) throw new Error('no rooms');
  return {
    one,
    two,
    masterKeys,
    database: test.database,
    url: test.url,
    drop: async () => {
      await Promise.all([one, two].map((rooms) => rooms.revocations.close()));
      await other.close();
      await test.drop();
    },
  };
}

/** A tenant with an agent and its first refresh token. */
export async function createHolder(rooms: Rooms, scopes: readonly string[] = ['email', 'openid']) {
  const context = await createTestTenant(rooms);
  const registered = await createTestAgent(rooms, context);
  const { agent, key } = registered;
  const first = await issueFirst(rooms, context, { agentId: agent.id, keyId: key.id, scopes });
  return { ...registered, context, ...first };
}

/** The tokens of one authentication. */
export async function issueFirst(
  rooms: Rooms,
  context: RequestContext,
  {
    agentId,
    keyId,
    scopes = ['email', 'openid'],
    jkt,
  }: { agentId: string; keyId: string; scopes?: readonly string[]; jkt?: string },
) {
  const clientId = 'service-agent';
  const { tenant } = context;
  const grant = { sub: agentId, audience: tenant.audience, scopes, clientId, jkt };
  const { accessToken, tokenId } = await rooms.tokens.issueAccessToken(tenant, grant);
  const owner = { tenantId: tenant.id, agentId, keyId, clientId, jkt };
  const stored = { ...owner, scopes, audience: tenant.audience, accessTokenId: tokenId };
  const refreshToken = await storeRefreshToken(rooms.tokens, rooms.database, stored);
  return { accessToken, tokenId, refreshToken };
}

/** Exchanges a refresh token. */
export async function refresh(
  rooms: Rooms,
  context: RequestContext,
  refreshToken: string,
  parameters: Record<string, string> = {},
): Promise<TokenAnswer & { readonly refresh_token: string }> {
  const sent = { grant_type: 'refresh_token', refresh_token: refreshToken, ...parameters };
  const { answer } = await rooms.tokenEndpoint.requestToken(context, {
    authorization: undefined,
    parameters: sent,
  });
  if (answer.refresh_token === undefined) throw new Error('there is no refresh token in the answer');
  return { ...answer, refresh_token: answer.refresh_token };
}

/** The code of a failure, or `accepted`. */
export const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'accepted',
    (error: ServiceError) => error.code ?? String(error),
  );

/** The claims of an access token, unverified. */
export function claimsOf(accessToken: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString());
}

/**
 * Checks again and again until a check does not accept.
 * @returns milliseconds from the call to the beginning of the last check that accepted. A process promises them to be
 *   less than a second however late it is, since it asks the database when its own knowledge is older
 */
export async function lastAccepted(check: () => Promise<string>): Promise<number> {
  const committed = performance.now();
  for (let last = 0; ; await sleep(10)) {
    const begun = performance.now() - committed;
    if ((await check()) !== 'accepted') return last;
    last = begun;
  }
}

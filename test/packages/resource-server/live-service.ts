// The whole service with an agent that authenticates by its key, and a resource server on a port of its own that the
// agent calls.
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buildPayloadOfResponse, type ChallengeResponse } from '../../../packages/agent/src/payloads.ts';
import type { Rules } from '../../../packages/resource-server/src/checks.ts';
import { agentOf, requireAgent } from '../../../packages/resource-server/src/express.ts';
import { createGuard, type GuardOptions } from '../../../packages/resource-server/src/guard.ts';
import { newKeyPair } from '../../isolation/rows.ts';
import type { Party } from '../../isolation/tenants-server.ts';

/** What the resource server calls itself: the `aud` of tokens for it. */
export const AUDIENCE = 'https://orders.example';

/** Sends a request of an administrator. @returns the answer's body */
export async function manage(party: Party, method: string, path: string, body?: unknown) {
  const answer = await party.send(method, path, body);
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.body;
}

/** An agent with a key. @returns its id, and functions that get it tokens by challenge and response */
export async function enrollAgent(party: Party, members: Record<string, unknown> = {}) {
  const pair = newKeyPair();
  const agent = await manage(party, 'POST', '/api/v1/agents', {
    name: 'Robot',
    scopes: ['openid', 'vault:read'],
    capabilities: ['orders:read'],
    audience: AUDIENCE,
    ...members,
  });
  const key = await manage(party, 'POST', `/api/v1/agents/${agent.id}/keys`, pair.body);
  const signIn = async (
    scope = 'openid vault:read',
  ): Promise<{ access_token: string; refresh_token: string }> => {
    const asked = { key_fingerprint: pair.fingerprint, scope };
    const { body } = await party.send('POST', '/auth/agent/challenge', asked, null);
    const signature = pair.sign(buildPayloadOfResponse(body as ChallengeResponse));
    const answer = { challenge_id: body.challenge_id, signature, algorithm: 'ed25519' };
    const verified = await party.send('POST', '/auth/agent/verify', answer, null);
    if (verified.status !== 200) throw new Error(verified.text);
    return verified.body;
  };
  const authenticate = async (scope?: string): Promise<string> => (await signIn(scope)).access_token;
  return { id: String(agent.id), keyId: String(key.key_id), signIn, authenticate };
}

/** A new application of the tenant. */
export async function createApplication(party: Party, members: Record<string, unknown>) {
  const { client_id: clientId, client_secret: clientSecret } = await manage(
    party,
    'POST',
    '/api/v1/applications',
    { name: 'Application', ...members },
  );
  return { clientId: String(clientId), clientSecret: String(clientSecret) };
}

/** Starts a resource server that answers with the agent that called. @param rules by path */
export async function startResourceServer(
  options: GuardOptions,
  rules: Readonly<Record<string, Rules>> = {},
) {
  const server: Server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const guard = createGuard({ resource: url, ...options });
  const middlewares = new Map(Object.entries(rules).map(([path, rule]) => [path, requireAgent(guard, rule)]));
  const usual = requireAgent(guard);
  server.on('request', (request: IncomingMessage, response) => {
    void (middlewares.get(request.url ?? '') ?? usual)(request, response, () => {
      const { subject, actor, capabilities, delegation } = agentOf(request);
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ subject, actor, capabilities, user: delegation?.user }));
    });
  });
  const call = async (token: string, path = '/orders') => {
    const response = await fetch(url + path, { headers: { authorization: `Bearer ${token}` } });
    return { status: response.status, headers: response.headers, body: await response.json() };
  };
  return {
    url,
    guard,
    call,
    /** @returns `accepted`, or status and code of the refusal */
    outcome: async (token: string, path?: string): Promise<string> => {
      const { status, body } = await call(token, path);
      return status === 200 ? 'accepted' : `${status} ${body.error}`;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(resolve);
      }),
  };
}

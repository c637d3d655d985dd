// An identity provider for tests: keys of any kind, tokens signed with them, and a server of its JWK set that counts
// its requests.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';

export const ISSUER = 'https://idp.example';
export const AUDIENCE = 'https://id.example';

export type ProviderKey = Awaited<ReturnType<typeof newKey>>;

/** A signing key and its public JWK. */
export async function newKey(alg = 'ES256', kid: string | undefined = `key-${alg}`) {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  const named = kid === undefined ? {} : { kid };
  const jwk: JWK = { ...(await exportJWK(publicKey)), ...named, alg, use: 'sig' };
  const sign = (claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}) => {
    const now = Math.floor(Date.now() / 1000);
    const all = { iss: ISSUER, sub: 'ada', aud: AUDIENCE, iat: now, exp: now + 600, ...claims };
    return new SignJWT(all).setProtectedHeader({ alg, ...named, ...header }).sign(privateKey);
  };
  return { jwk, privateKey, sign };
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** Serves a JWK set on loopback; `handler` may be changed while it runs. */
export async function startJwksServer(handler: Handler) {
  const state = { handler, requests: 0 };
  const server = createServer((request, response) => {
    state.requests += 1;
    state.handler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(state, {
    uri: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

/** Answers with a JWK set, as providers do. */
export function answerKeys(keys: readonly unknown[], headers: Record<string, string> = {}): Handler {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify({ keys }));
  };
}

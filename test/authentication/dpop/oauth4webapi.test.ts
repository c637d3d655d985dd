// The proofs of a client library of others, with its own handling of nonces, against the verification of proofs.
import { randomBytes } from 'node:crypto';
import * as oauth from 'oauth4webapi';
import { describe, expect, it } from 'vitest';
import { DpopService } from '../../../src/authentication/dpop/dpop.service.ts';
import { ServiceError } from '../../../src/platform/errors/service-error.ts';
import { useTestDatabase } from '../../setup/database.ts';

const BASE_URL = 'https://auth.example.com/t/acme';
const METADATA = { issuer: BASE_URL, token_endpoint: `${BASE_URL}/oauth/token` };
const CLIENT: oauth.Client = { client_id: 'client' };
const TENANT = {
  id: 't1',
  slug: 'acme',
  name: 'Acme',
  audience: BASE_URL,
  signingAlgorithm: 'ES256',
  baseUrl: BASE_URL,
  issuerUrl: BASE_URL,
} as const;

const test = await useTestDatabase();
const dpop = new DpopService({
  database: test.database,
  masterKeys: [{ key: randomBytes(32) }],
});

/** The edge of the network: answers as a token endpoint, or as a resource when the request has an access token. */
function createEdge() {
  const bound = new Map<string, string>();
  const requests: string[] = [];
  const answer = async (
    url: string,
    init: { method: string; headers: Record<string, string> },
  ): Promise<Response> => {
    const { dpop: proof, authorization = '' } = Object.fromEntries(new Headers(init.headers));
    const text = /^DPoP (.+)$/.exec(authorization)?.[1];
    const accessToken = text === undefined ? undefined : { text, jkt: bound.get(text) ?? '' };
    const path = new URL(url).pathname.slice('/t/acme'.length);
    const use = { proofs: proof === undefined ? [] : [proof], method: init.method, path, accessToken };
    requests.push(`${init.method} ${path}`);
    try {
      const { jkt, nonce } = await dpop.verifyProof({ tenant: TENANT }, use);
      const token = `token.${requests.length}`;
      bound.set(token, jkt);
      const body = { access_token: token, token_type: 'DPoP', expires_in: 300, jkt };
      return Response.json(body, { headers: { 'dpop-nonce': nonce } });
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const challenge = { 'www-authenticate': `DPoP error="${error.code}"` };
      const headers = { ...error.headers, ...(text === undefined ? {} : challenge) };
      return Response.json({ error: error.code }, { status: text === undefined ? 400 : 401, headers });
    }
  };
  return { answer, requests };
}

describe('oauth4webapi', () => {
  const grant = async (handle: oauth.DPoPHandle, edge: ReturnType<typeof createEdge>) => {
    const options = { DPoP: handle, [oauth.customFetch]: edge.answer };
    const response = await oauth.clientCredentialsGrantRequest(
      METADATA,
      CLIENT,
      oauth.ClientSecretBasic('secret'),
      {},
      options,
    );
    return oauth.processClientCredentialsResponse(METADATA, CLIENT, response);
  };
  /** The first request is refused with the nonce, which the handle keeps. */
  const grantKnowing = async (handle: oauth.DPoPHandle, edge: ReturnType<typeof createEdge>) => {
    const refused = await grant(handle, edge).catch((error: unknown) => error);
    expect(oauth.isDPoPNonceError(refused)).toBe(true);
    return grant(handle, edge);
  };

  it.each(['ES256', 'Ed25519', 'PS256'] as const)(
    'gets a token bound to its %s key and uses it',
    async (alg) => {
      const handle = oauth.DPoP(CLIENT, await oauth.generateKeyPair(alg));
      const edge = createEdge();
      const token = await grantKnowing(handle, edge);
      expect(token).toMatchObject({ token_type: 'dpop', jkt: await handle.calculateThumbprint() });
      const url = new URL(`${BASE_URL}/api/v1/agents?limit=5`);
      const options = { DPoP: handle, [oauth.customFetch]: edge.answer };
      const response = await oauth.protectedResourceRequest(
        token.access_token,
        'GET',
        url,
        undefined,
        null,
        options,
      );
      expect(response.status).toBe(200);
      const stranger = { ...options, DPoP: oauth.DPoP(CLIENT, await oauth.generateKeyPair(alg)) };
      const refused = oauth.protectedResourceRequest(
        token.access_token,
        'GET',
        url,
        undefined,
        null,
        stranger,
      );
      await expect(refused).rejects.toMatchObject({
        status: 401,
        cause: [{ scheme: 'dpop', parameters: { error: 'invalid_dpop_proof' } }],
      });
    },
  );

  it('gets a nonce from the token endpoint, and needs one round more', async () => {
    const handle = oauth.DPoP(CLIENT, await oauth.generateKeyPair('ES256'));
    const edge = createEdge();
    const refused = await grant(handle, edge).catch((error: unknown) => error);
    expect(oauth.isDPoPNonceError(refused)).toBe(true);
    expect(await grant(handle, edge)).toMatchObject({ token_type: 'dpop' });
    expect(await grant(handle, edge)).toMatchObject({ token_type: 'dpop' });
    expect(edge.requests).toHaveLength(3);
  });

  it('gets a nonce from a resource too', async () => {
    const keys = await oauth.generateKeyPair('ES256');
    const edge = createEdge();
    const { access_token: token } = await grantKnowing(oauth.DPoP(CLIENT, keys), edge);
    // A new handle of the same key has got no nonce yet.
    const options = { DPoP: oauth.DPoP(CLIENT, keys), [oauth.customFetch]: edge.answer };
    const read = () =>
      oauth.protectedResourceRequest(token, 'GET', new URL(`${BASE_URL}/x`), undefined, null, options);
    const refused = await read().catch((error: unknown) => error);
    expect(refused).toMatchObject({ status: 401 });
    expect(oauth.isDPoPNonceError(refused)).toBe(true);
    expect((await read()).status).toBe(200);
  });
});

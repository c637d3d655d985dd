// First half of the demo: one agent for each algorithm authenticates, and its token is validated as by a resource
// server.
import { createRemoteJWKSet, jwtVerify } from 'jose';
import {
  buildPayloadOfResponse,
  type ChallengeResponse,
} from '../../../authentication/challenges/payload.ts';
import type { KeyAlgorithm } from '../../../platform/crypto/algorithm.ts';
import { encodeBase64 } from '../../../platform/crypto/base64.ts';
import { derivePublicKey, generatePrivateKey, signPayload } from '../../../platform/crypto/sign.ts';
import type { Api, Credentials, Json } from './api.ts';
import type { Report } from './report.ts';

const ALGORITHMS: readonly KeyAlgorithm[] = ['ed25519', 'es256', 'es256k', 'bip340'];
const SCOPE = 'openid profile';

/** @returns the tokens for a challenge that the key has signed */
export async function authenticate(
  api: Api,
  {
    algorithm,
    privateKey,
    fingerprint,
  }: { algorithm: KeyAlgorithm; privateKey: Uint8Array; fingerprint: unknown },
  scope: string,
): Promise<Json> {
  const challenge = await api.post('/auth/agent/challenge', { key_fingerprint: fingerprint, scope });
  const payload = buildPayloadOfResponse(challenge as unknown as ChallengeResponse);
  return api.post('/auth/agent/verify', {
    challenge_id: challenge.challenge_id,
    signature: signPayload(algorithm, privateKey, payload),
    algorithm,
  });
}

/** Registers and authenticates one agent for each algorithm, and reports every check. */
export async function authenticateAgents({
  api,
  credentials,
  report,
}: {
  api: Api;
  credentials: Credentials;
  report: Report;
}) {
  const jwks = createRemoteJWKSet(new URL(`${credentials.issuer_url}/.well-known/jwks.json`));
  for (const algorithm of ALGORITHMS) {
    report.section(`An agent with a key of ${algorithm}`);
    const privateKey = generatePrivateKey(algorithm);
    const publicKey = derivePublicKey(algorithm, privateKey);
    const agent = await api.call('POST', '/api/v1/agents', {
      name: `demo ${algorithm}`,
      description: 'made by the demo',
      capabilities: ['web', 'mcp'],
      scopes: SCOPE.split(' '),
    });
    const key = await api.call('POST', `/api/v1/agents/${agent.id}/keys`, {
      algorithm,
      public_key: encodeBase64(publicKey.raw),
    });
    report.step(`registered agent ${agent.id}, key ${String(key.fingerprint).slice(0, 16)}…`);

    const tokens = await authenticate(api, { algorithm, privateKey, fingerprint: key.fingerprint }, SCOPE);
    report.check(
      'the signed challenge gives an access token and a refresh token',
      typeof tokens.access_token === 'string' && typeof tokens.refresh_token === 'string',
    );

    const { payload: claims, protectedHeader } = await jwtVerify(String(tokens.access_token), jwks, {
      issuer: credentials.issuer_url,
      audience: credentials.base_url,
      typ: 'at+jwt',
      algorithms: ['ES256', 'EdDSA'],
    });
    report.check(
      `the access token validates by JWKS (kid ${String(protectedHeader.kid).slice(0, 12)}…): it is this agent's, of this tenant, with these scopes`,
      claims.sub === agent.id &&
        claims.tenant_id === credentials.tenant_id &&
        claims.subject_type === 'agent' &&
        claims.client_id === 'service-agent' &&
        claims.scope === SCOPE &&
        (claims.agent as { name?: string } | undefined)?.name === `demo ${algorithm}`,
    );
    const known = await api.call('GET', `/api/v1/agents/${agent.id}`);
    report.check(
      'the agent is correctly registered',
      (known.registration as { complete?: boolean } | undefined)?.complete === true,
    );
  }
}

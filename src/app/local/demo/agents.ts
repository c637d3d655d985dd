// First half of the demo: one agent for each algorithm authenticates, and its token is validated as by a resource
// server.
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { createAgent } from '../../../../packages/agent/src/index.ts';
import type { KeyAlgorithm } from '../../../platform/crypto/algorithm.ts';
import { encodeBase64 } from '../../../platform/crypto/base64.ts';
import { derivePublicKey, generatePrivateKey, signPayload } from '../../../platform/crypto/sign.ts';
import type { Api, Credentials } from './api.ts';
import type { Report } from './report.ts';

const ALGORITHMS: readonly KeyAlgorithm[] = ['ed25519', 'es256', 'es256k', 'bip340'];
const SCOPE = 'openid profile';

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

    const sign = (message: Uint8Array) => Buffer.from(signPayload(algorithm, privateKey, message), 'base64');
    const client = await createAgent({
      ...{ issuer: credentials.issuer_url, scope: SCOPE, fetch: api.fetch },
      key: { algorithm, publicKey: publicKey.raw, sign },
    });
    const { accessToken } = await client.getToken();
    report.check(
      'the signed challenge gives an access token',
      client.fingerprint === key.fingerprint && accessToken !== '',
    );

    const { payload: claims, protectedHeader } = await jwtVerify(accessToken, jwks, {
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

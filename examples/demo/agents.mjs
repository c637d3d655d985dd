// First half of the demo: one agent for each algorithm authenticates, and its token is validated as by a resource
// server. Another agent registers its key itself.
import { randomBytes } from 'node:crypto';
import { createAgent, generateKey } from '@countersign/agent';
import { secp256k1Signer } from '@countersign/agent/secp256k1';
import { createRemoteJWKSet, jwtVerify } from 'jose';

const SCOPES = ['openid', 'profile'];

/** A new key of each algorithm: what the agent keeps, and the public half as it is registered. */
const MAKERS = {
  ed25519: () => makeJwk('ed25519'),
  es256: () => makeJwk('es256'),
  es256k: () => makeSigner('es256k'),
  bip340: () => makeSigner('bip340'),
};

async function makeJwk(algorithm) {
  const key = await generateKey(algorithm);
  const { d, ...publicKey } = key;
  return { key, publicKey };
}

function makeSigner(algorithm) {
  const key = secp256k1Signer(algorithm, randomBytes(32));
  return { key, publicKey: Buffer.from(key.publicKey).toString('base64') };
}

/** Registers and authenticates the agents, and reports every check. */
export async function showAgents({ tenant, manage, report }) {
  const jwks = createRemoteJWKSet(new URL(`${tenant.issuer_url}/.well-known/jwks.json`));
  for (const [algorithm, make] of Object.entries(MAKERS)) {
    report.section(`An agent with a key of ${algorithm}`);
    const { key, publicKey } = await make();
    const name = `demo ${algorithm}`;
    const { id } = await manage('POST', '/api/v1/agents', {
      name,
      description: 'made by the demo',
      capabilities: ['web', 'mcp'],
      scopes: SCOPES,
    });
    const registered = { algorithm, public_key: publicKey };
    const { fingerprint } = await manage('POST', `/api/v1/agents/${id}/keys`, registered);
    report.step(`registered agent ${id}, key ${fingerprint.slice(0, 16)}…`);

    const agent = await createAgent({ issuer: tenant.issuer_url, key, scope: SCOPES.join(' ') });
    const { accessToken } = await agent.getToken();
    report.check(
      'the signed challenge gives an access token',
      agent.fingerprint === fingerprint && accessToken !== '',
    );
    const { payload: claims, protectedHeader } = await jwtVerify(accessToken, jwks, {
      issuer: tenant.issuer_url,
      audience: tenant.base_url,
      typ: 'at+jwt',
      algorithms: ['ES256', 'EdDSA'],
    });
    report.check(
      `the access token validates by JWKS (kid ${protectedHeader.kid?.slice(0, 12)}…): it is this agent's, of this tenant, with these scopes`,
      claims.sub === id &&
        claims.tenant_id === tenant.tenant_id &&
        claims.subject_type === 'agent' &&
        claims.client_id === 'service-agent' &&
        claims.scope === SCOPES.join(' ') &&
        claims.agent?.name === name,
    );
    const known = await manage('GET', `/api/v1/agents/${id}`);
    report.check('the agent is correctly registered', known.registration?.complete === true);
  }
  await showEnrollment({ tenant, manage, report });
}

/** An agent with an enrollment token. Its private key never leaves its process. */
async function showEnrollment({ tenant, manage, report }) {
  report.section('An agent that registers its key itself');
  const { id } = await manage('POST', '/api/v1/agents', { name: 'demo enrolled', scopes: ['openid'] });
  const handed = await manage('POST', `/api/v1/agents/${id}/enrollment-tokens`);
  report.step(`management hands over a token that is good for one key until ${handed.expires_at}`);

  const agent = await createAgent({ issuer: tenant.issuer_url, key: await generateKey() });
  await agent.enroll(handed);
  const self = await agent.self();
  const [key, ...others] = self.keys;
  report.check(
    'the agent registers its key, which its proof verifies',
    others.length === 0 && key?.fingerprint === agent.fingerprint && key.verified_at !== null,
  );
  report.check(
    'its token tells it who it is, and which key it used',
    self.id === id && typeof self.authenticated_key_id === 'string',
  );
}

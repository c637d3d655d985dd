// The demo's agent that registers its own key with an enrollment token. Its private key never leaves this process.

import { buildKeyProofPayload } from '../../../identity/keys/key-proof.ts';
import { encodeBase64 } from '../../../platform/crypto/base64.ts';
import { fingerprint } from '../../../platform/crypto/public-key.ts';
import { derivePublicKey, generatePrivateKey, signPayload } from '../../../platform/crypto/sign.ts';
import { authenticate } from './agents.ts';
import type { Api } from './api.ts';
import type { Report } from './report.ts';

const ALGORITHM = 'ed25519';

/** Enrolls an agent, authenticates it, and reads the agent's resource as that agent; reports every check. */
export async function enrollAgent({ api, report }: { api: Api; report: Report }): Promise<void> {
  report.section('An agent that registers its key itself');
  const agent = await api.call('POST', '/api/v1/agents', { name: 'demo enrolled', scopes: ['openid'] });
  const handed = await api.call('POST', `/api/v1/agents/${agent.id}/enrollment-tokens`);
  report.step(`management hands over a token that is good for one key until ${handed.expires_at}`);

  const privateKey = generatePrivateKey(ALGORITHM);
  const publicKey = derivePublicKey(ALGORITHM, privateKey);
  const proof = buildKeyProofPayload({
    tenantId: String(handed.tenant_id),
    agentId: String(handed.agent_id),
    fingerprint: fingerprint(publicKey.raw),
  });
  const key = await api.post('/auth/agent/enroll', {
    token: handed.token,
    algorithm: ALGORITHM,
    public_key: encodeBase64(publicKey.raw),
    proof: signPayload(ALGORITHM, privateKey, proof),
  });
  report.check('the agent registers its key, which its proof verifies', typeof key.verified_at === 'string');

  const signer = { algorithm: ALGORITHM, privateKey, fingerprint: key.fingerprint } as const;
  const tokens = await authenticate(api, signer, 'openid');
  const self = await api.readAs(tokens.access_token, '/auth/agent/self');
  report.check(
    'its token tells it who it is, and which key it used',
    self.id === agent.id && self.authenticated_key_id === key.key_id,
  );
}

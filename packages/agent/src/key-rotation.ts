// An agent registers its first key by an enrollment token, and puts another key in the place of the present one.

import { AgentError } from './agent-error.ts';
import { encodeBase64 } from './bytes.ts';
import { buildKeyProofPayload, buildRotationProofPayload } from './payloads.ts';
import type { ServiceClient } from './service-client.ts';
import type { AgentKey } from './signer.ts';
import type { AgentToken } from './token-cache.ts';

/** What management hands over: the answer to the creation of an enrollment token, as it is. */
export type Enrollment = {
  readonly token?: string | undefined;
  readonly tenant_id: string;
  readonly agent_id: string;
};

/** The agent as it sees itself (`GET /auth/agent/self`); more members than these are there. */
export type AgentSelf = {
  readonly id: string;
  readonly tenant_id: string;
  readonly [member: string]: unknown;
};

/** A rotation that has begun. The old key works until its sunset, and is then revoked by the service. */
export type KeyRotation = {
  readonly rotationId: string;
  readonly newKeyId: string;
  readonly fingerprint: string;
};

/** @throws {AgentError} `invalid_grant` for a token that is unknown, used, revoked or expired */
export async function enrollKey(
  client: ServiceClient,
  key: AgentKey,
  { token, tenant_id, agent_id }: Enrollment,
  label: string | undefined,
): Promise<void> {
  const { fingerprint } = key;
  const payload = buildKeyProofPayload({ tenantId: tenant_id, agentId: agent_id, fingerprint });
  const proof = await key.sign(payload);
  const json = { token, ...publicHalf(key), label, proof: encodeBase64(proof) };
  await client.call({ path: '/auth/agent/enroll', json });
}

export async function readSelf(client: ServiceClient, accessToken: AgentToken): Promise<AgentSelf> {
  const answer = await client.call({ path: '/auth/agent/self', accessToken, safe: true });
  const { id, tenant_id } = answer;
  if (typeof id !== 'string' || typeof tenant_id !== 'string')
    throw new AgentError('unexpected_answer', 'The answer is not an agent.');
  return { ...answer, id, tenant_id };
}

/** Registers a new key with proofs by both. The old one goes on until the new one has answered a challenge. */
export async function beginRotation(
  client: ServiceClient,
  accessToken: AgentToken,
  { from, to }: { from: AgentKey; to: AgentKey },
  settings: Readonly<Record<string, unknown>>,
): Promise<KeyRotation> {
  const self = await readSelf(client, accessToken);
  const payload = buildRotationProofPayload({
    ...{ tenantId: self.tenant_id, agentId: self.id },
    ...{ oldFingerprint: from.fingerprint, newFingerprint: to.fingerprint },
  });
  const [old_key, new_key] = await Promise.all(
    [from, to].map(async (key) => encodeBase64(await key.sign(payload))),
  );
  const answer = await client.call({
    path: '/auth/agent/keys/rotate',
    headers: { 'idempotency-key': crypto.randomUUID() },
    accessToken,
    safe: true,
    json: {
      ...{ old_key_fingerprint: from.fingerprint, ...publicHalf(to), ...settings },
      proof: { old_key, new_key },
    },
  });
  const { rotation_id, new_key_id } = answer;
  return { rotationId: String(rotation_id), newKeyId: String(new_key_id), fingerprint: to.fingerprint };
}

function publicHalf({ algorithm, publicKey }: AgentKey) {
  return { algorithm, public_key: encodeBase64(publicKey) };
}

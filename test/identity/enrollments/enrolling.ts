// What an agent does with an enrollment token, for tests: it makes a key and proves it, from nothing but the answer it
// was handed.

import { buildKeyProofPayload } from '../../../packages/agent/src/payloads.ts';
import type { RequestContext } from '../../../src/platform/context.ts';
import type { KeyAlgorithm } from '../../../src/platform/crypto/algorithm.ts';
import { encodeBase64 } from '../../../src/platform/crypto/base64.ts';
import { fingerprint } from '../../../src/platform/crypto/public-key.ts';
import { derivePublicKey, generatePrivateKey, signPayload } from '../../platform/crypto/sign.ts';
import type { Rooms } from '../agents/agent-rooms.ts';

/** A fresh key with its proof for an agent. @param changes to what the proof says */
export function proveFreshKey(
  owner: { tenantId: string; agentId: string },
  {
    algorithm = 'ed25519',
    ...changes
  }: { algorithm?: KeyAlgorithm; tenantId?: string; agentId?: string } = {},
) {
  const privateKey = generatePrivateKey(algorithm);
  const publicKey = derivePublicKey(algorithm, privateKey);
  const signer = { algorithm, privateKey, fingerprint: fingerprint(publicKey.raw) };
  return {
    ...signer,
    publicKey: encodeBase64(publicKey.raw),
    proof: proveKey({ ...owner, ...changes }, signer),
  };
}

/** The proof of a key for an agent. */
export function proveKey(
  owner: { tenantId: string; agentId: string },
  {
    algorithm,
    privateKey,
    fingerprint,
  }: { algorithm: KeyAlgorithm; privateKey: Uint8Array; fingerprint: string },
): string {
  return signPayload(algorithm, privateKey, buildKeyProofPayload({ ...owner, fingerprint }));
}

/** An agent without a key, and a token with which it may register one. */
export async function createEnrollee({ agents, enrollments }: Rooms, context: RequestContext) {
  const agent = await agents.create(context, { name: 'Robot' });
  const { enrollment, token } = await enrollments.create(context, agent.id);
  const owner = { tenantId: context.tenant.id, agentId: agent.id };
  return { agent, enrollment, token, owner };
}

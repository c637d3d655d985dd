// What an agent does between challenge and verification, for tests: it builds the payload and signs it.

import { buildPayloadOfResponse } from '../../../packages/agent/src/payloads.ts';
import { presentChallenge } from '../../../src/authentication/challenges/challenge.schemas.ts';
import type { VerifyInput } from '../../../src/authentication/challenges/challenge.service.ts';
import type { Challenge } from '../../../src/authentication/challenges/challenge.ts';
import { AGENT_CLIENT_ID } from '../../../src/identity/agents/agent.ts';
import type { RequestContext } from '../../../src/platform/context.ts';
import type { KeyAlgorithm } from '../../../src/platform/crypto/algorithm.ts';
import type { Rooms } from '../../identity/agents/agent-rooms.ts';
import { generatePrivateKey, signPayload } from '../../platform/crypto/sign.ts';

export type Signer = { readonly algorithm: KeyAlgorithm; readonly privateKey: Uint8Array };

/** Signs what the challenge route answered, from nothing but that answer. */
export function answer(
  challenge: Challenge,
  { algorithm, privateKey }: Signer,
  options: { form?: 'p1363' | 'der' } = {},
): VerifyInput {
  const response = presentChallenge(challenge);
  if (response.client_id !== AGENT_CLIENT_ID) throw new Error('the challenge names another client');
  const signature = signPayload(algorithm, privateKey, buildPayloadOfResponse(response), options);
  return { challengeId: response.challenge_id, signature, algorithm };
}

/** A well-formed signature by somebody else's key. */
export function forge(challenge: Challenge, { algorithm }: Pick<Signer, 'algorithm'>): VerifyInput {
  return answer(challenge, { algorithm, privateKey: generatePrivateKey(algorithm) });
}

/** Asks for a challenge for `openid`, or the given scope. */
export async function ask(
  { challenges }: Rooms,
  context: RequestContext,
  keyFingerprint: string,
  scope = 'openid',
): Promise<Challenge> {
  return (await challenges.issue(context, { keyFingerprint, scope })).challenge;
}

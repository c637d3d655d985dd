// The challenge and verify routes. They need no access token, and their answers must not be cached.

import type { ErrorCode } from '../../platform/errors/catalogue.ts';
import { invalidField, ServiceError } from '../../platform/errors/service-error.ts';
import { ok } from '../../platform/http/answers.ts';
import { defineRoutes, type Route } from '../../platform/http/route.ts';
import type { DpopService } from '../dpop/dpop.service.ts';
import { answerOf } from '../tokens/token-answer.ts';
import { AGENT_TOKENS, CHALLENGE_REQUESTS, CHALLENGES, VERIFICATIONS } from './challenge.examples.ts';
import {
  agentTokenSchema,
  challengeBody,
  challengeSchema,
  presentChallenge,
  verifyBody,
} from './challenge.schemas.ts';
import type { ChallengeService, VerifyInput } from './challenge.service.ts';
import { readSignedRequest, type SignableRequest, VERIFY_TAG } from './signed-request.ts';

const VERIFY_PATH = '/auth/agent/verify';
const COMMON = {
  tag: 'Agent authentication',
  about:
    'An agent proves that it holds its key: it asks for a challenge, signs its canonical payload, and gets tokens for the signature.',
  scope: null,
} as const;
const NO_STORE = { 'cache-control': 'no-store' } as const;
const WARNINGS = ['warning', 'deprecation', 'sunset'] as const;
const ERRORS: readonly ErrorCode[] = [
  'key_not_found',
  'key_revoked',
  'policy_denied',
  'invalid_scope',
  'invalid_target',
];

const HOW_TO_SIGN = [
  'Nine lines are to be signed, joined by line feeds, without one at the end:',
  '',
  '```',
  'SERVICE-CHALLENGE-V1',
  'nonce:<nonce>',
  'timestamp:<Unix seconds>',
  'expires_at:<Unix seconds>',
  'audience:<audience>',
  'client_id:<client_id>',
  'scope_hash:<scope_hash>',
  'key_fingerprint:<key_fingerprint>',
  'algorithm:<algorithm>',
  '```',
  '',
  'In values a backslash is written `\\\\`, a line feed `\\n`, a carriage return `\\r`, a tab `\\t`, any other control character `\\u00XX`. ed25519 signs these bytes; es256 and es256k their SHA-256 (`r‖s` or DER); bip340 their SHA-256 as the message, or the bytes. A deprecated key is answered with `Warning`, `Deprecation` and `Sunset`.',
].join('\n');

const HOW_TO_ANSWER = [
  'A challenge is used up by the first correct signature; of several concurrent ones one gets tokens, the others `challenge_used`. A wrong signature leaves it as it is. With a DPoP proof (RFC 9449) the tokens are bound to its key.',
  '',
  `Instead of the payload an agent with an ed25519 or es256 key may sign the request (RFC 9421), and leave out \`signature\` and \`algorithm\`. The signature has the tag \`${VERIFY_TAG}\`, \`created\`, \`expires\`, the challenge's \`nonce\`, and the RFC 7638 thumbprint of the key as \`keyid\`; it covers \`@method\`, \`@target-uri\` (or \`@authority\` and \`@path\`), \`content-digest\` (RFC 9530), and \`dpop\` where that is sent. Components with parameters are refused.`,
].join('\n');

/** Source: Specification, "Agent authentication routes". */
export function createChallengeRoutes({
  challenges,
  dpop,
}: {
  challenges: Pick<ChallengeService, 'issue' | 'verify'>;
  dpop: Pick<DpopService, 'examineProof' | 'nonce'>;
}): Route[] {
  return defineRoutes(COMMON, [
    {
      method: 'POST',
      path: '/auth/agent/challenge',
      cors: true,
      operationId: 'issueChallenge',
      summary: 'Ask for a challenge to sign',
      description: HOW_TO_SIGN,
      request: { body: challengeBody, examples: CHALLENGE_REQUESTS },
      responses: {
        200: {
          description: 'The challenge',
          schema: challengeSchema,
          headers: WARNINGS,
          examples: CHALLENGES,
        },
      },
      errors: ERRORS,
      handler: async ({ context, body }) => {
        const { challenge, warnings } = await challenges.issue(context, {
          keyFingerprint: body.key_fingerprint,
          scope: body.scope,
          resource: body.resource,
        });
        return ok(presentChallenge(challenge), { ...NO_STORE, ...warnings });
      },
    },
    {
      method: 'POST',
      path: VERIFY_PATH,
      cors: true,
      operationId: 'verifyChallenge',
      proves: true,
      summary: 'Exchange a signed challenge for tokens',
      description: HOW_TO_ANSWER,
      bindsTokens: true,
      request: { body: verifyBody, examples: VERIFICATIONS },
      responses: {
        200: {
          description: 'Tokens',
          schema: agentTokenSchema,
          headers: [...WARNINGS, 'dpop-nonce'],
          examples: AGENT_TOKENS,
        },
      },
      errors: [
        ...ERRORS,
        'invalid_grant',
        'challenge_expired',
        'challenge_used',
        'invalid_signature',
        'invalid_dpop_proof',
        'use_dpop_nonce',
      ],
      handler: async ({ context, body, bodyText, headerValues }) => {
        const proofs = headerValues('dpop');
        const use = { proofs, method: 'POST', path: VERIFY_PATH };
        const proof = proofs.length === 0 ? undefined : dpop.examineProof(context, use);
        const url = context.tenant.baseUrl + VERIFY_PATH;
        const granted = await challenges
          .verify(context, {
            challengeId: body.challenge_id,
            ...readSignature(body, { method: 'POST', url, content: bodyText(), headerValues }),
            jkt: proof?.jkt,
            consumeProof: proof?.consume,
          })
          .catch((error: unknown) => {
            // An agent that has to use a proof gets the nonce for it (RFC 9449 §8.2).
            if (!(error instanceof ServiceError) || error.code !== 'invalid_dpop_proof') throw error;
            throw error.withHeaders({ 'dpop-nonce': dpop.nonce(context.tenant) });
          });
        const nonce = proof === undefined ? {} : { 'dpop-nonce': proof.nonce };
        return ok(
          {
            ...answerOf({ grant: { scopes: granted.scopes, jkt: proof?.jkt }, issued: granted }),
            refresh_token: granted.refreshToken,
          },
          { ...NO_STORE, ...granted.warnings, ...nonce },
        );
      },
    },
  ]);
}

/** Returns the signature of the body; without one, that of the request. */
function readSignature(
  {
    signature,
    algorithm,
  }: { readonly signature?: string | undefined; readonly algorithm?: string | undefined },
  request: SignableRequest,
): Pick<VerifyInput, 'signature' | 'algorithm' | 'message'> {
  if (signature !== undefined && algorithm !== undefined) return { signature, algorithm };
  if (signature !== undefined) throw invalidField('body.algorithm', 'is required beside signature');
  if (algorithm !== undefined) throw invalidField('body.signature', 'is required beside algorithm');
  const message = readSignedRequest(request);
  if (message === undefined)
    throw invalidField(
      'body.signature',
      `is required, or a signature of the request with the tag ${VERIFY_TAG}`,
    );
  return { signature: message.signature, algorithm: message.algorithm, message };
}

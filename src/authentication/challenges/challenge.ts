// Types of challenges, and the checks of a request that uses one, in their order. The caller passes the time and
// verifies the signature.

import { buildChallengePayload } from '../../../packages/agent/src/payloads.ts';
import {
  AGENT_CLIENT_ID,
  type AgentRecord,
  chooseAudience,
  describeNoTarget,
} from '../../identity/agents/agent.ts';
import type { KeyRow } from '../../identity/keys/key.model.ts';
import { mayAuthenticate } from '../../identity/keys/key.ts';
import type { Tenant } from '../../platform/context.ts';
import type { ErrorCode } from '../../platform/errors/catalogue.ts';
import { hashScopes, parseScope } from '../../platform/scope-hash.ts';
import { AGENT_SCOPES, isAgentScope, isWithin } from '../../platform/scopes.ts';
import type { DelegateAgent } from '../delegations/delegation.ts';
import { findNeedOfProof } from '../dpop/required-proof.ts';
import type { ChallengeRow } from './challenge.model.ts';

/**
 * `nonce` is lower-case hex. `keyFingerprint` is the fingerprint or alias in the request. Times are whole seconds.
 * `resource` is the audience in the request; null means the agent's default audience (RFC 8707). `isExpired`: a sweep
 * has marked it.
 */
export type Challenge = Pick<
  ChallengeRow,
  'id' | 'keyFingerprint' | 'algorithm' | 'audience' | 'scopes' | 'createdAt' | 'expiresAt' | 'consumedAt'
> & { readonly nonce: string; readonly resource: string | null; readonly isExpired: boolean };

/** A key and its agent. `isUseNoted`: a use in the last minute is stored. `isVerified`: the key is verified. */
export type Holder = {
  readonly key: Pick<
    KeyRow,
    'id' | 'algorithm' | 'publicKey' | 'fingerprint' | 'state' | 'sunsetAt' | 'deprecatedAt'
  > & { readonly isUseNoted: boolean; readonly isVerified: boolean };
  readonly agent: DelegateAgent & Pick<AgentRecord, 'status'> & { readonly isDeleted: boolean };
};

export type Refusal = { readonly code: ErrorCode; readonly detail: string };

export type Judgement<Granted> = { readonly refusal: Refusal } | Granted;

type Check<Subject> = {
  readonly code: ErrorCode;
  readonly detail: string | ((subject: Subject) => string);
  readonly fails: (subject: Subject) => boolean;
};

/** The tenant of the request. An agent without an audience uses the tenant's `audience`. */
type Asked = { readonly tenant: Pick<Tenant, 'audience' | 'resumedAt' | 'securityProfile'> };

/** `now` is the database's time of the read. `algorithm` and `jkt` come from the request. */
export type Attempt = Asked & {
  readonly now: Date;
  readonly challenge: Challenge;
  readonly holder: Holder | null;
  readonly algorithm: string;
  /** Thumbprint of the key that the request has proved. */
  readonly jkt?: string | undefined;
};

const UNKNOWN_KEY: Refusal = {
  code: 'key_not_found',
  detail:
    'No key with this fingerprint is registered with this tenant: register it, or ask the tenant that has it.',
};

/** Source of the order: Specification, "Agent authentication errors". */
const CHALLENGE_CHECKS: readonly Check<Attempt>[] = [
  {
    code: 'challenge_used',
    detail: 'The challenge has been used; ask for a new one.',
    fails: ({ challenge }) => challenge.consumedAt !== null,
  },
  {
    code: 'challenge_expired',
    detail: 'The challenge has expired; ask for a new one.',
    fails: ({ challenge, now }) => challenge.isExpired || challenge.expiresAt.getTime() <= now.getTime(),
  },
  {
    code: 'challenge_expired',
    detail:
      'The challenge ended with a suspension of the tenant, or a restore of the service; ask for a new one.',
    fails: ({ challenge, tenant }) =>
      tenant.resumedAt !== undefined && challenge.createdAt.getTime() <= tenant.resumedAt.getTime(),
  },
  {
    code: 'invalid_grant',
    detail: "The algorithm is not the challenge's: send the `algorithm` of the challenge.",
    fails: ({ challenge, algorithm }) => challenge.algorithm !== algorithm,
  },
];

const HOLDER_CHECKS: readonly Check<{ holder: Holder; now: Date }>[] = [
  {
    code: 'key_revoked',
    detail: 'The key is revoked.',
    fails: ({ holder, now }) => !mayAuthenticate(holder.key, now),
  },
  { ...UNKNOWN_KEY, fails: ({ holder }) => holder.agent.isDeleted },
  {
    code: 'policy_denied',
    detail: 'The agent is suspended.',
    fails: ({ holder }) => holder.agent.status === 'suspended',
  },
];

type AskedScopes = { readonly holder: Holder; readonly scopes: readonly string[] | null };

const SCOPE_CHECKS: readonly Check<AskedScopes>[] = [
  { code: 'invalid_scope', detail: 'The scope is malformed.', fails: ({ scopes }) => scopes === null },
  { code: 'invalid_scope', detail: 'The scope is empty.', fails: ({ scopes }) => scopes?.length === 0 },
  {
    code: 'invalid_scope',
    detail: ({ scopes }) =>
      `No agent may ask for the scope ${scopes?.find((scope) => !isAgentScope(scope))}; agents have ${AGENT_SCOPES.join(' ')}.`,
    fails: ({ scopes }) => !(scopes ?? []).every(isAgentScope),
  },
  {
    code: 'invalid_scope',
    detail: ({ scopes, holder }) =>
      `This agent may not ask for the scope ${scopes?.find((scope) => !holder.agent.scopes.includes(scope))}; it may ask for: ${holder.agent.scopes.join(' ')}.`,
    fails: ({ scopes, holder }) => !isWithin(scopes ?? [], holder.agent.scopes),
  },
];

function noTarget({ agent }: Holder, tenant: Asked['tenant'], resource: string | null | undefined): Refusal {
  const isAllowed = (audience: string) => chooseAudience(agent, tenant, audience) === audience;
  return { code: 'invalid_target', detail: describeNoTarget(resource, isAllowed) };
}

/**
 * Checks a request for a challenge: key, agent, scope, resource.
 * @param request.scope the parameter `scope` @param request.resource the parameter `resource`
 * @returns the scopes (unique, sorted), the key and its agent; or the first refusal
 */
export function judgeRequest(
  request: Asked & {
    readonly now: Date;
    readonly holder: Holder | null;
    readonly scope: string;
    readonly resource?: string | undefined;
  },
): Judgement<{ readonly holder: Holder; readonly scopes: readonly string[] }> {
  const { holder, now, tenant, resource } = request;
  if (holder === null) return { refusal: UNKNOWN_KEY };
  const scopes = parseScope(request.scope);
  const refusal =
    findFailure(HOLDER_CHECKS, { holder, now }) ?? findFailure(SCOPE_CHECKS, { holder, scopes });
  if (refusal !== undefined) return { refusal };
  if (chooseAudience(holder.agent, tenant, resource) === undefined)
    return { refusal: noTarget(holder, tenant, resource) };
  return { holder, scopes: scopes ?? [] };
}

/**
 * Makes all checks of a verification except that of the signature: used, expired, algorithm, key, agent, scope,
 * resource, proof of a key. The agent must still have the scope and the resource of the challenge.
 * @returns the key, its agent and the audience of the token; or the first refusal
 */
export function judgeAttempt(
  attempt: Attempt,
): Judgement<{ readonly holder: Holder; readonly audience: string }> {
  const { challenge, holder, now, tenant } = attempt;
  const refusal = findFailure(CHALLENGE_CHECKS, attempt);
  if (refusal !== undefined) return { refusal };
  if (holder === null) return { refusal: UNKNOWN_KEY };
  const { scopes } = challenge;
  const later = findFailure(HOLDER_CHECKS, { holder, now }) ?? findFailure(SCOPE_CHECKS, { holder, scopes });
  if (later !== undefined) return { refusal: later };
  const audience = chooseAudience(holder.agent, tenant, challenge.resource);
  if (audience === undefined) return { refusal: noTarget(holder, tenant, challenge.resource) };
  const need = attempt.jkt === undefined ? findNeedOfProof(tenant, holder.agent) : undefined;
  return need === undefined
    ? { holder, audience }
    : { refusal: { code: 'invalid_dpop_proof', detail: need } };
}

/** Returns the exact bytes that the key must sign. */
export function payloadOf(challenge: Challenge): Uint8Array {
  return buildChallengePayload({
    nonce: challenge.nonce,
    timestamp: challenge.createdAt.getTime() / 1000,
    expiresAt: challenge.expiresAt.getTime() / 1000,
    audience: challenge.audience,
    clientId: AGENT_CLIENT_ID,
    scopeHash: hashScopes(challenge.scopes),
    keyFingerprint: challenge.keyFingerprint,
    algorithm: challenge.algorithm,
  });
}

function findFailure<Subject>(checks: readonly Check<Subject>[], subject: Subject): Refusal | undefined {
  const failed = checks.find((check) => check.fails(subject));
  if (failed === undefined) return undefined;
  const { code, detail } = failed;
  return { code, detail: typeof detail === 'string' ? detail : detail(subject) };
}

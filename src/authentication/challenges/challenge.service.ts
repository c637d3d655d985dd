// Authenticates agents by challenges. A challenge is consumed only once, even when several processes verify it
// concurrently.

import { randomBytes } from 'node:crypto';
import { AGENT_CLIENT_ID } from '../../identity/agents/agent.ts';
import type { KeyService } from '../../identity/keys/key.service.ts';
import { buildSunsetHeaders } from '../../identity/keys/key.ts';
import { createBoundedCache } from '../../platform/bounded-cache.ts';
import type { RequestContext } from '../../platform/context.ts';
import type { SignatureVerifier } from '../../platform/crypto/verify-signature.node.ts';
import { createCoalescer } from '../../platform/database/coalescer.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import { untilUnchanged } from '../../platform/database/until-unchanged.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { bindUseCases } from '../../platform/use-cases.ts';
import type { TokenService } from '../tokens/token.service.ts';
import type { AuthenticationFailureService } from './authentication-failure.service.ts';
import type { ChallengeName, FoundHolder, HolderName, NewChallenge } from './challenge.store.ts';
import * as store from './challenge.store.ts';
import {
  type Attempt,
  type Challenge,
  type Holder,
  judgeAttempt,
  judgeRequest,
  payloadOf,
  type Refusal,
} from './challenge.ts';
import type { RedemptionService } from './redemption.service.ts';
import { diagnoseSignature } from './signature-diagnosis.ts';
import { judgeSignedRequest, type SignedRequest } from './signed-request.ts';

/** Bytes of a nonce. Source: Specification, "Limits". */
const NONCE_LENGTH = 32;

const WRONG_SIGNATURE: Refusal = {
  code: 'invalid_signature',
  detail: "The signature is not the key's over this challenge's canonical payload, or over this request.",
};

/** `signature` is in base64; it is over the challenge's payload, or over `message`. */
export type VerifyInput = {
  readonly challengeId: string;
  readonly signature: string;
  /** The challenge's when absent, which only a signed request may leave out. */
  readonly algorithm: string | undefined;
  /** The signed request (RFC 9421), when the agent has signed it instead of the payload. */
  readonly message?: SignedRequest | undefined;
  /** RFC 7638 thumbprint of the DPoP proof's key, to which the tokens are bound (RFC 9449 §5). */
  readonly jkt?: string | undefined;
  /** Records the use of that proof, once. */
  readonly consumeProof?: (() => Promise<void>) | undefined;
};

/** `expiresIn` is in seconds, `scopes` are sorted. `warnings` are headers that warn of a deprecated key. */
export type AgentTokens = {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expiresIn: number;
  readonly scopes: readonly string[];
  readonly warnings: Readonly<Record<string, string>>;
};

/** Greatest number of issued challenges that a process remembers. */
const REMEMBERED = 5_000;

type Found = Pick<Attempt, 'challenge' | 'holder' | 'now'>;

/** `version`: of key and agent as they were read. */
type Judged = {
  readonly version: string;
  readonly isHeard: boolean;
  readonly challenge: Challenge;
  readonly holder: Holder;
  readonly audience: string;
};

export type ChallengeNeeds = {
  database: Pick<Database, 'query'>;
  verifier: Pick<SignatureVerifier, 'verifySignature'>;
  keys: Pick<KeyService, 'recordUse'>;
  tokens: Pick<TokenService, 'issueAccessToken' | 'prepareRefreshToken'>;
  redemptions: Pick<RedemptionService, 'redeem'>;
  failures: AuthenticationFailureService;
  challengeLifetime: number;
  now?: (() => number) | undefined;
};

/**
 * Source: Specification, "Challenge-response procedure".
 * @param challengeLifetime seconds
 * @param now milliseconds since 1970, for the times of signed requests
 */
export function createChallengeService(needs: ChallengeNeeds) {
  const tools = prepareChallenge(needs);
  return bindUseCases(tools, { issue, verify });
}

export type ChallengeService = ReturnType<typeof createChallengeService>;

type ChallengeTools = ReturnType<typeof prepareChallenge>;

function prepareChallenge({ database, challengeLifetime, now = Date.now, ...needs }: ChallengeNeeds) {
  const inserts = createCoalescer({
    run: (batch: readonly NewChallenge[]) => store.insert(database, batch, challengeLifetime),
    limits: { batches: 1 },
  });
  const holders = createCoalescer({
    run: (batch: readonly HolderName[]) => store.findHolders(database, batch),
    limits: { batches: 1 },
  });
  const loads = createCoalescer({
    run: (batch: readonly ChallengeName[]) => store.load(database, batch),
    limits: { batches: 1 },
  });
  /**
   * Challenges that this process has issued, with key and agent as they were, where no subscription gets the events.
   */
  const issued = createBoundedCache<
    Pick<FoundHolder, 'holder' | 'version' | 'now'> & { challenge: Challenge }
  >({
    limit: REMEMBERED,
  });
  return { ...needs, database, challengeLifetime, now, inserts, holders, loads, issued };
}

/**
 * Issues a challenge. Two round trips, shared by concurrent requests. One more when the request contains an alias
 * of the key.
 * @param input.keyFingerprint 64 hex digits, returned in the challenge @param input.scope as requested
 * @param input.resource audience of the requested token (RFC 8707); the agent's default audience when absent
 * @returns the challenge, and headers that warn of a deprecated key
 * @throws ServiceError `key_not_found`, `key_revoked`, `policy_denied`, `invalid_scope`, `invalid_target`,
 * `rate_limited`
 */
async function issue(
  { holders, database, failures, inserts, issued }: ChallengeTools,
  context: RequestContext,
  input: {
    readonly keyFingerprint: string;
    readonly scope: string;
    readonly resource?: string | undefined;
  },
): Promise<{ challenge: Challenge; warnings: Readonly<Record<string, string>> }> {
  const { tenant } = context;
  const name = { tenantId: tenant.id, fingerprint: input.keyFingerprint };
  const found = await holders.add(name);
  const aliased = found ?? (await store.findHolderByAlias(database, name));
  const holder = aliased?.holder ?? null;
  const { scope, resource } = input;
  const judgement = judgeRequest({ holder, scope, resource, tenant, now: aliased?.now ?? new Date(0) });
  if ('refusal' in judgement) {
    const { refusal } = judgement;
    if (holder === null) throw new ServiceError(refusal.code, { detail: refusal.detail });
    throw await failures.report(context, { stage: 'challenge', holder, refusal });
  }
  const { key, agent } = judgement.holder;
  const challenge = await inserts.add({
    id: newId(),
    tenantId: tenant.id,
    agentId: agent.id,
    keyId: key.id,
    keyFingerprint: input.keyFingerprint,
    algorithm: key.algorithm,
    nonce: randomBytes(NONCE_LENGTH).toString('hex'),
    audience: tenant.issuerUrl,
    scopes: judgement.scopes,
    resource: resource ?? null,
  });
  if (found !== null && !found.isHeard) issued.set(`${tenant.id}:${challenge.id}`, { ...found, challenge });
  return { challenge, warnings: buildSunsetHeaders(key) };
}

/**
 * Verifies the signature, consumes the challenge and issues tokens. The access token is signed before the challenge
 * is consumed, so the challenge stays usable when signing fails. Two round trips, shared by concurrent requests:
 * the first loads the challenge, the second consumes it and writes the records. A challenge that this process has
 * issued needs no load.
 * @throws ServiceError `invalid_grant`, `challenge_used`, `challenge_expired`, `key_not_found`, `key_revoked`,
 * `policy_denied`, `invalid_scope`, `invalid_target`, `invalid_dpop_proof`, `invalid_signature`, `rate_limited`
 */
async function verify(
  needs: ChallengeTools,
  context: RequestContext,
  input: VerifyInput,
): Promise<AgentTokens> {
  const recalled = recall(needs, context, input);
  const isRight = recalled === undefined ? undefined : await isSigned(needs, recalled, input);
  const got =
    recalled !== undefined && isRight ? await redeem(needs, context, input, recalled, false) : undefined;
  if (got !== undefined) return got;
  let isProven = isRight;
  return untilUnchanged(async () => {
    const judged = await judge(needs, context, input);
    // Challenge and key never change, so a signature is verified once.
    isProven ??= await isSigned(needs, judged, input);
    if (!isProven) throw await refuseSignature(needs, context, judged, input);
    return redeem(needs, context, input, judged, true);
  });
}

/** Makes all checks of a verification except that of the signature. */
function judgeInput(
  { now }: ChallengeTools,
  found: Found,
  { algorithm, message, jkt }: VerifyInput,
  { tenant }: RequestContext,
) {
  const { challenge } = found;
  const judgement = judgeAttempt({ ...found, algorithm: algorithm ?? challenge.algorithm, jkt, tenant });
  if ('refusal' in judgement || message === undefined) return judgement;
  const { key } = judgement.holder;
  const refusal = judgeSignedRequest(message, { challenge, key, now: now() });
  return refusal === undefined ? judgement : { refusal };
}

/**
 * Judges by what this process remembers of the challenge, once. The redemption proves it by the version.
 * @returns undefined when `judge` has to decide
 */
function recall(needs: ChallengeTools, context: RequestContext, input: VerifyInput): Judged | undefined {
  const name = `${context.tenant.id}:${input.challengeId.toLowerCase()}`;
  const found = needs.issued.peek(name);
  if (found === undefined) return undefined;
  needs.issued.forget(name);
  const judgement = judgeInput(needs, found, input, context);
  if ('refusal' in judgement) return undefined;
  return { challenge: found.challenge, version: found.version, isHeard: false, ...judgement };
}

function isSigned(
  { verifier }: ChallengeTools,
  { challenge, holder }: Judged,
  { signature, message }: VerifyInput,
  payload = message?.base ?? payloadOf(challenge),
): Promise<boolean> {
  return verifier.verifySignature({
    algorithm: challenge.algorithm,
    publicKey: holder.key.publicKey,
    payload,
    signature,
  });
}

async function load({ loads }: ChallengeTools, context: RequestContext, id: string) {
  const found = await loads.add({ tenantId: context.tenant.id, id });
  if (found === null) throw new ServiceError('invalid_grant', { detail: 'The challenge is unknown.' });
  return found;
}

/** Loads the challenge and makes all checks except that of the signature. @throws the recorded refusal */
async function judge(needs: ChallengeTools, context: RequestContext, input: VerifyInput): Promise<Judged> {
  const found = await load(needs, context, input.challengeId);
  const judgement = judgeInput(needs, found, input, context);
  if ('refusal' in judgement) throw await refuse(needs, context, found.holder, judgement.refusal);
  return { challenge: found.challenge, version: found.version, isHeard: found.isHeard, ...judgement };
}

/** Returns the error for a failed verification. Records the failure when the key is known. */
function refuse(
  { failures }: ChallengeTools,
  context: RequestContext,
  holder: Holder | null,
  refusal: Refusal,
) {
  if (holder === null) return new ServiceError(refusal.code, { detail: refusal.detail });
  return failures.report(context, { stage: 'verify', holder, refusal });
}

/** Describes the mistake only below the limit of failures, because that costs verifications. */
async function refuseSignature(
  needs: ChallengeTools,
  context: RequestContext,
  judged: Judged,
  input: VerifyInput,
) {
  const error = await refuse(needs, context, judged.holder, WRONG_SIGNATURE);
  if (error.code !== WRONG_SIGNATURE.code || input.message !== undefined) return error;
  const detail = await diagnoseSignature({
    ...{ algorithm: judged.challenge.algorithm, signature: input.signature },
    ...{ payload: payloadOf(judged.challenge), nonce: judged.challenge.nonce },
    isOver: (bytes) => isSigned(needs, judged, input, bytes),
  });
  return new ServiceError(WRONG_SIGNATURE.code, { detail });
}

/** The agent gets both tokens only after the challenge is consumed. */
async function sign(
  { tokens }: ChallengeTools,
  context: RequestContext,
  { challenge, holder, audience }: Judged,
  jkt?: string,
) {
  const { agent, key } = holder;
  const common = { audience, scopes: challenge.scopes, clientId: AGENT_CLIENT_ID, jkt };
  const access = await tokens.issueAccessToken(context.tenant, {
    ...common,
    sub: agent.id,
    agent: { name: agent.name, capabilities: agent.capabilities },
  });
  const refresh = tokens.prepareRefreshToken({
    ...common,
    tenantId: context.tenant.id,
    agentId: agent.id,
    keyId: key.id,
    accessTokenId: access.tokenId,
  });
  return { access, refresh };
}

/**
 * Signs the tokens and consumes the challenge.
 * @param waits whether to wait for a change of the key or agent that is under way
 * @returns undefined when nothing was consumed
 */
async function redeem(
  needs: ChallengeTools,
  context: RequestContext,
  { jkt, consumeProof }: VerifyInput,
  judged: Judged,
  waits: boolean,
): Promise<AgentTokens | undefined> {
  context.countClient?.(judged.holder.agent.id);
  // A proof for an invented challenge, or beside a wrong signature, leaves no row.
  await consumeProof?.();
  const { challenge, holder, isHeard, version } = judged;
  const { access, refresh } = await sign(needs, context, judged, jkt);
  const success = { ...judged, token: access, address: context.address, jkt };
  const options = { refreshToken: refresh.record, isHeard, version, waits };
  if (!(await needs.redemptions.redeem(context, success, options))) return undefined;
  // Written in the background. If the write is lost, `last_used_at` is only a minute older.
  if (!holder.key.isUseNoted) needs.keys.recordUse(holder.key.id).catch(() => undefined);
  return {
    accessToken: access.accessToken,
    refreshToken: refresh.text,
    expiresIn: access.expiresIn,
    scopes: challenge.scopes,
    warnings: buildSunsetHeaders(holder.key),
  };
}

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
import { Service } from '../../platform/service.ts';
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
  /** Seconds. */
  challengeLifetime: number;
  /** Milliseconds since 1970, for the times of signed requests. */
  now?: (() => number) | undefined;
};

/** Source: Specification, "Challenge-response procedure". */
export class ChallengeService extends Service<ChallengeNeeds> {
  readonly #now = this.needs.now ?? Date.now;
  readonly #inserts = createCoalescer({
    run: (batch: readonly NewChallenge[]) =>
      store.insert(this.needs.database, batch, this.needs.challengeLifetime),
    limits: { batches: 1 },
  });
  readonly #holders = createCoalescer({
    run: (batch: readonly HolderName[]) => store.findHolders(this.needs.database, batch),
    limits: { batches: 1 },
  });
  readonly #loads = createCoalescer({
    run: (batch: readonly ChallengeName[]) => store.load(this.needs.database, batch),
    limits: { batches: 1 },
  });
  /**
   * Challenges that this process has issued, with key and agent as they were, where no subscription gets the events.
   */
  readonly #issued = createBoundedCache<
    Pick<FoundHolder, 'holder' | 'version' | 'now'> & { challenge: Challenge }
  >({
    limit: REMEMBERED,
  });

  /**
   * Issues a challenge. Two round trips, shared by concurrent requests. One more when the request contains an alias
   * of the key.
   * @param input.keyFingerprint 64 hex digits, returned in the challenge @param input.scope as requested
   * @param input.resource audience of the requested token (RFC 8707); the agent's default audience when absent
   * @returns the challenge, and headers that warn of a deprecated key
   * @throws ServiceError `key_not_found`, `key_revoked`, `policy_denied`, `invalid_scope`, `invalid_target`,
   * `rate_limited`
   */
  issue = async (
    context: RequestContext,
    input: {
      readonly keyFingerprint: string;
      readonly scope: string;
      readonly resource?: string | undefined;
    },
  ): Promise<{ challenge: Challenge; warnings: Readonly<Record<string, string>> }> => {
    const { tenant } = context;
    const name = { tenantId: tenant.id, fingerprint: input.keyFingerprint };
    const found = await this.#holders.add(name);
    const aliased = found ?? (await store.findHolderByAlias(this.needs.database, name));
    const holder = aliased?.holder ?? null;
    const { scope, resource } = input;
    const judgement = judgeRequest({ holder, scope, resource, tenant, now: aliased?.now ?? new Date(0) });
    if ('refusal' in judgement) {
      const { refusal } = judgement;
      if (holder === null) throw new ServiceError(refusal.code, { detail: refusal.detail });
      throw await this.needs.failures.report(context, { stage: 'challenge', holder, refusal });
    }
    const { key, agent } = judgement.holder;
    const challenge = await this.#inserts.add({
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
    if (found !== null && !found.isHeard)
      this.#issued.set(`${tenant.id}:${challenge.id}`, { ...found, challenge });
    return { challenge, warnings: buildSunsetHeaders(key) };
  };

  /**
   * Verifies the signature, consumes the challenge and issues tokens. The access token is signed before the challenge
   * is consumed, so the challenge stays usable when signing fails. Two round trips, shared by concurrent requests:
   * the first loads the challenge, the second consumes it and writes the records. A challenge that this process has
   * issued needs no load.
   * @throws ServiceError `invalid_grant`, `challenge_used`, `challenge_expired`, `key_not_found`, `key_revoked`,
   * `policy_denied`, `invalid_scope`, `invalid_target`, `invalid_dpop_proof`, `invalid_signature`, `rate_limited`
   */
  verify = async (context: RequestContext, input: VerifyInput): Promise<AgentTokens> => {
    const recalled = this.#recall(context, input);
    const isRight = recalled === undefined ? undefined : await this.#isSigned(recalled, input);
    const got =
      recalled !== undefined && isRight ? await this.#redeem(context, input, recalled, false) : undefined;
    if (got !== undefined) return got;
    let isProven = isRight;
    return untilUnchanged(async () => {
      const judged = await this.#judge(context, input);
      // Challenge and key never change, so a signature is verified once.
      isProven ??= await this.#isSigned(judged, input);
      if (!isProven) throw await this.#refuseSignature(context, judged, input);
      return this.#redeem(context, input, judged, true);
    });
  };

  /** Makes all checks of a verification except that of the signature. */
  #judgeInput = (found: Found, { algorithm, message, jkt }: VerifyInput, { tenant }: RequestContext) => {
    const { challenge } = found;
    const judgement = judgeAttempt({ ...found, algorithm: algorithm ?? challenge.algorithm, jkt, tenant });
    if ('refusal' in judgement || message === undefined) return judgement;
    const { key } = judgement.holder;
    const refusal = judgeSignedRequest(message, { challenge, key, now: this.#now() });
    return refusal === undefined ? judgement : { refusal };
  };

  /**
   * Judges by what this process remembers of the challenge, once. The redemption proves it by the version.
   * @returns undefined when `judge` has to decide
   */
  #recall = (context: RequestContext, input: VerifyInput): Judged | undefined => {
    const name = `${context.tenant.id}:${input.challengeId.toLowerCase()}`;
    const found = this.#issued.peek(name);
    if (found === undefined) return undefined;
    this.#issued.forget(name);
    const judgement = this.#judgeInput(found, input, context);
    if ('refusal' in judgement) return undefined;
    return { challenge: found.challenge, version: found.version, isHeard: false, ...judgement };
  };

  #isSigned = (
    { challenge, holder }: Judged,
    { signature, message }: VerifyInput,
    payload = message?.base ?? payloadOf(challenge),
  ): Promise<boolean> =>
    this.needs.verifier.verifySignature({
      algorithm: challenge.algorithm,
      publicKey: holder.key.publicKey,
      payload,
      signature,
    });

  #load = async (context: RequestContext, id: string) => {
    const found = await this.#loads.add({ tenantId: context.tenant.id, id });
    if (found === null) throw new ServiceError('invalid_grant', { detail: 'The challenge is unknown.' });
    return found;
  };

  /** Loads the challenge and makes all checks except that of the signature. @throws the recorded refusal */
  #judge = async (context: RequestContext, input: VerifyInput): Promise<Judged> => {
    const found = await this.#load(context, input.challengeId);
    const judgement = this.#judgeInput(found, input, context);
    if ('refusal' in judgement) throw await this.#refuse(context, found.holder, judgement.refusal);
    return { challenge: found.challenge, version: found.version, isHeard: found.isHeard, ...judgement };
  };

  /** Returns the error for a failed verification. Records the failure when the key is known. */
  #refuse = (context: RequestContext, holder: Holder | null, refusal: Refusal) => {
    if (holder === null) return new ServiceError(refusal.code, { detail: refusal.detail });
    return this.needs.failures.report(context, { stage: 'verify', holder, refusal });
  };

  /** Describes the mistake only below the limit of failures, because that costs verifications. */
  #refuseSignature = async (context: RequestContext, judged: Judged, input: VerifyInput) => {
    const error = await this.#refuse(context, judged.holder, WRONG_SIGNATURE);
    if (error.code !== WRONG_SIGNATURE.code || input.message !== undefined) return error;
    const detail = await diagnoseSignature({
      ...{ algorithm: judged.challenge.algorithm, signature: input.signature },
      ...{ payload: payloadOf(judged.challenge), nonce: judged.challenge.nonce },
      isOver: (bytes) => this.#isSigned(judged, input, bytes),
    });
    return new ServiceError(WRONG_SIGNATURE.code, { detail });
  };

  /** The agent gets both tokens only after the challenge is consumed. */
  #sign = async (context: RequestContext, { challenge, holder, audience }: Judged, jkt?: string) => {
    const { agent, key } = holder;
    const common = { audience, scopes: challenge.scopes, clientId: AGENT_CLIENT_ID, jkt };
    const access = await this.needs.tokens.issueAccessToken(context.tenant, {
      ...common,
      sub: agent.id,
      agent: { name: agent.name, capabilities: agent.capabilities },
    });
    const refresh = this.needs.tokens.prepareRefreshToken({
      ...common,
      tenantId: context.tenant.id,
      agentId: agent.id,
      keyId: key.id,
      accessTokenId: access.tokenId,
    });
    return { access, refresh };
  };

  /**
   * Signs the tokens and consumes the challenge.
   * @param waits whether to wait for a change of the key or agent that is under way
   * @returns undefined when nothing was consumed
   */
  #redeem = async (
    context: RequestContext,
    { jkt, consumeProof }: VerifyInput,
    judged: Judged,
    waits: boolean,
  ): Promise<AgentTokens | undefined> => {
    context.countClient?.(judged.holder.agent.id);
    // A proof for an invented challenge, or beside a wrong signature, leaves no row.
    await consumeProof?.();
    const { challenge, holder, isHeard, version } = judged;
    const { access, refresh } = await this.#sign(context, judged, jkt);
    const success = { ...judged, token: access, address: context.address, jkt };
    const options = { refreshToken: refresh.record, isHeard, version, waits };
    if (!(await this.needs.redemptions.redeem(context, success, options))) return undefined;
    // Written in the background. If the write is lost, `last_used_at` is only a minute older.
    if (!holder.key.isUseNoted) this.needs.keys.recordUse(holder.key.id).catch(() => undefined);
    return {
      accessToken: access.accessToken,
      refreshToken: refresh.text,
      expiresIn: access.expiresIn,
      scopes: challenge.scopes,
      warnings: buildSunsetHeaders(holder.key),
    };
  };
}

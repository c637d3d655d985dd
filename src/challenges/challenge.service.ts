// Challenge-response authentication of agents. A challenge is worth one success, whatever the number of processes that verify it.
import { randomBytes } from 'node:crypto';
import { resolveAudience } from '../agents/agent.ts';
import type { AuditEntry, AuditService } from '../audit/audit.service.ts';
import type { RequestContext } from '../context.ts';
import type { SignatureVerifier } from '../crypto/verify-signature.node.ts';
import type { Database } from '../database/database.ts';
import { newId } from '../database/ids.ts';
import { ServiceError } from '../errors/service-error.ts';
import type { EmittedEvent, EventService } from '../events/event.service.ts';
import type { KeyService } from '../keys/key.service.ts';
import { buildSunsetHeaders } from '../keys/key.ts';
import type { IssuedAccessToken, TokenService } from '../tokens/token.service.ts';
import type { AuthenticationFailureService } from './authentication-failure.service.ts';
import type { ChallengeStore } from './challenge.store.ts';
import {
  AGENT_CLIENT_ID,
  type Challenge,
  type Holder,
  judgeAttempt,
  judgeRequest,
  payloadOf,
  type Refusal,
} from './challenge.ts';

/** Bytes of a nonce. Source: Specification, "Limits". */
const NONCE_LENGTH = 32;

const METHOD = 'challenge_response';

const WRONG_SIGNATURE: Refusal = {
  code: 'invalid_signature',
  detail: "The signature is not the key's over this challenge's canonical payload.",
};

export type VerifyInput = {
  readonly challengeId: string;
  /** Base64. */
  readonly signature: string;
  readonly algorithm: string;
};

/** What a verified agent gets; `expiresIn` in seconds, `scopes` sorted. `warnings` are headers that tell of a deprecated key. */
export type AgentTokens = {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expiresIn: number;
  readonly scopes: readonly string[];
  readonly warnings: Readonly<Record<string, string>>;
};

/** Source: Specification, "Challenge-response procedure". @param challengeLifetime seconds */
export function createChallengeService({
  store,
  database,
  verifier,
  keys,
  tokens,
  audit,
  events,
  failures,
  challengeLifetime,
}: {
  store: ChallengeStore;
  database: Pick<Database, 'query' | 'hot'>;
  verifier: Pick<SignatureVerifier, 'verifySignature'>;
  keys: Pick<KeyService, 'recordUse'>;
  tokens: Pick<TokenService, 'issueAccessToken' | 'createRefreshToken'>;
  audit: Pick<AuditService, 'append'>;
  events: Pick<EventService, 'emit'>;
  failures: AuthenticationFailureService;
  challengeLifetime: number;
}) {
  async function load(context: RequestContext, id: string) {
    const found = await store.load(database, context.tenant.id, id);
    if (found === null) throw new ServiceError('invalid_grant', { detail: 'The challenge is unknown.' });
    return found;
  }

  /** Everything that can be said without consuming the challenge. @throws the recorded refusal */
  async function judge(context: RequestContext, input: VerifyInput) {
    const found = await load(context, input.challengeId);
    const judgement = judgeAttempt({ ...found, algorithm: input.algorithm });
    if ('refusal' in judgement) throw await refuse(context, found.holder, judgement.refusal);
    return { challenge: found.challenge, holder: judgement.holder };
  }

  /** The error for a failed verification; a key that is known has it on record. */
  function refuse(context: RequestContext, holder: Holder | null, refusal: Refusal) {
    if (holder === null) return new ServiceError(refusal.code, { detail: refusal.detail });
    return failures.report(context, { stage: 'verify', holder, refusal });
  }

  /** Consumes the challenge and writes all that follows from it in one transaction. @returns null when somebody or something came first */
  function redeem(
    context: RequestContext,
    { challenge, holder }: { challenge: Challenge; holder: Holder },
    grant: { readonly audience: string; readonly token: IssuedAccessToken },
  ): Promise<string | null> {
    return database.hot(async (unit) => {
      const consumed = await store.consume(unit, context.tenant.id, challenge.id);
      if (consumed === null) return null;
      const refreshToken = await tokens.createRefreshToken(unit, {
        tenantId: context.tenant.id,
        agentId: holder.agent.id,
        keyId: holder.key.id,
        scopes: challenge.scopes,
        audience: grant.audience,
        clientId: AGENT_CLIENT_ID,
      });
      const facts = { challenge, holder, ...grant, isFirstUse: consumed.isFirstUse };
      await audit.append(unit, context, describeSuccess(facts));
      await events.emit(unit, context, describeEvents(context, facts));
      return refreshToken;
    });
  }

  return {
    /**
     * Issues a challenge. Two round trips, one more for a key that is named by an alias.
     * @param input.keyFingerprint 64 hex digits, echoed in the challenge @param input.scope as requested
     * @returns the challenge, and headers that warn of a deprecated key
     * @throws ServiceError `key_not_found`, `key_revoked`, `policy_denied`, `invalid_scope`, `rate_limited`
     */
    issue: async (
      context: RequestContext,
      input: { readonly keyFingerprint: string; readonly scope: string },
    ): Promise<{ challenge: Challenge; warnings: Readonly<Record<string, string>> }> => {
      const { tenant } = context;
      const found = await store.findHolder(database, tenant.id, input.keyFingerprint);
      const holder = found?.holder ?? null;
      const judgement = judgeRequest({ holder, scope: input.scope, now: found?.now ?? new Date(0) });
      if ('refusal' in judgement) {
        const { refusal } = judgement;
        if (holder === null) throw new ServiceError(refusal.code, { detail: refusal.detail });
        throw await failures.report(context, { stage: 'challenge', holder, refusal });
      }
      const { key, agent } = judgement.holder;
      const challenge = await store.insert(
        database,
        {
          id: newId(),
          tenantId: tenant.id,
          agentId: agent.id,
          keyId: key.id,
          keyFingerprint: input.keyFingerprint,
          algorithm: key.algorithm,
          nonce: randomBytes(NONCE_LENGTH).toString('hex'),
          audience: tenant.issuerUrl,
          scopes: judgement.scopes,
        },
        challengeLifetime,
      );
      return { challenge, warnings: buildSunsetHeaders(key) };
    },

    /**
     * Verifies the answer to a challenge, consumes it and issues tokens. The access token is signed before the challenge is
     * consumed, so that a failure to sign does not cost the agent its challenge.
     * @throws ServiceError `invalid_grant`, `challenge_used`, `challenge_expired`, `key_not_found`, `key_revoked`,
     *   `policy_denied`, `invalid_scope`, `invalid_signature`, `rate_limited`
     */
    verify: async (context: RequestContext, input: VerifyInput): Promise<AgentTokens> => {
      const judged = await judge(context, input);
      const { challenge, holder } = judged;
      const isValid = await verifier.verifySignature({
        algorithm: challenge.algorithm,
        publicKey: holder.key.publicKey,
        payload: payloadOf(challenge),
        signature: input.signature,
      });
      if (!isValid) throw await refuse(context, holder, WRONG_SIGNATURE);
      const audience = resolveAudience(holder.agent, context.tenant);
      const token = await tokens.issueAccessToken(context.tenant, {
        sub: holder.agent.id,
        audience,
        scopes: challenge.scopes,
        clientId: AGENT_CLIENT_ID,
        agent: { name: holder.agent.name, capabilities: holder.agent.capabilities },
      });
      const refreshToken = await redeem(context, judged, { audience, token });
      if (refreshToken === null) {
        await judge(context, input);
        // Whatever was in the way is gone again, for example a suspension that was lifted.
        throw new ServiceError('temporarily_unavailable', { retryAfterSeconds: 1 });
      }
      // Nobody waits for it, and losing it only makes `last_used_at` a minute older.
      if (!holder.key.isUseNoted) keys.recordUse(holder.key.id).catch(() => undefined);
      return {
        accessToken: token.accessToken,
        refreshToken,
        expiresIn: token.expiresIn,
        scopes: challenge.scopes,
        warnings: buildSunsetHeaders(holder.key),
      };
    },
  };
}

export type ChallengeService = ReturnType<typeof createChallengeService>;

type Success = {
  readonly challenge: Challenge;
  readonly holder: Holder;
  readonly audience: string;
  readonly token: IssuedAccessToken;
  readonly isFirstUse: boolean;
};

function describeSuccess({ challenge, holder, audience, token, isFirstUse }: Success): AuditEntry[] {
  const { key, agent } = holder;
  const common = {
    outcome: 'success',
    actor: { kind: 'agent', id: agent.id },
    target: { type: 'agent', id: agent.id },
    keyId: key.id,
    tokenId: token.tokenId,
  } as const;
  const scope = challenge.scopes.join(' ');
  const entries: AuditEntry[] = [
    { ...common, action: 'auth.login.success', data: { method: METHOD, challenge_id: challenge.id } },
    { ...common, action: 'auth.token.issued', data: { method: METHOD, scope, audience } },
  ];
  if (isFirstUse) {
    const data = { agent_id: agent.id, key_fingerprint: key.fingerprint, method: METHOD };
    const target = { type: 'key', id: key.id };
    entries.push({ ...common, action: 'agent.key.verified', target, data });
  }
  return entries;
}

function describeEvents(
  context: RequestContext,
  { challenge, holder, audience, token, isFirstUse }: Success,
): EmittedEvent[] {
  const { key, agent } = holder;
  const subject = { agent_id: agent.id, key_id: key.id, key_fingerprint: key.fingerprint };
  const scope = challenge.scopes.join(' ');
  const emitted: EmittedEvent[] = [
    { type: 'auth.login.success', data: { ...subject, method: METHOD, address: context.address } },
    {
      type: 'auth.token.issued',
      data: {
        ...subject,
        method: METHOD,
        token_id: token.tokenId,
        client_id: AGENT_CLIENT_ID,
        scope,
        audience,
        expires_in: token.expiresIn,
      },
    },
  ];
  if (isFirstUse) {
    const data = { ...subject, algorithm: key.algorithm, method: METHOD };
    emitted.push({ type: 'admin.agent.key.verified', data });
  }
  return emitted;
}

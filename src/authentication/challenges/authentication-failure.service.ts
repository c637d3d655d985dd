// Records failed authentications with a known key or with an issued refresh token: one audit entry for each failure,
// and at most one event a minute. The records are committed although the answer is an error.

import type { AuditEntry } from '../../audit/audit.ts';
import type { BruteForceService, Episode } from '../../audit/brute-force.service.ts';
import type { EmittedEvent, JsonObject } from '../../events/event.ts';
import type { RecordService } from '../../events/record.service.ts';
import { addressGroup } from '../../platform/address-group.ts';
import type { RequestContext } from '../../platform/context.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import type { ErrorCode } from '../../platform/errors/catalogue.ts';
import { type LimitReached, ServiceError } from '../../platform/errors/service-error.ts';
import type { FailureTally } from './authentication-failure.store.ts';
import * as store from './authentication-failure.store.ts';
import type { Refusal } from './challenge.ts';

/** The method of a failed authentication in its records, by route. */
const METHODS = {
  challenge: 'challenge_response',
  verify: 'challenge_response',
  refresh: 'refresh_token',
} as const;
const LOGIN_FAILURE = 'auth.login.failure';

/** Seconds in which all failures of one key for one reason share one event. */
const WINDOW = 60;

/** The agent and the key of a failure. */
type KnownHolder = {
  readonly key: { readonly id: string; readonly fingerprint: string | null };
  readonly agent: { readonly id: string };
};

/** Counts failures of a key from an address; `blocked` is set beyond the limit. */
export type FailureLimiter = {
  failed(key: string): Promise<{ readonly blocked: LimitReached | undefined }>;
};

/**
 * Codes that a correct signature can get too, after a lost race or with a late answer: they are no guesses. They are
 * always answered with their code and counted apart from guesses; the limit only decides whether a further failure is
 * recorded.
 */
const NOBODYS_GUESS: ReadonlySet<ErrorCode> = new Set(['challenge_used', 'challenge_expired']);

/**
 * Records failed authentications. Source: Specification, "Event types" (`auth.login.failure`, `security.*`).
 * @param limiter counts by key and address, so that failures from one address do not block another address
 * @param bruteForce counts wrong signatures by key: wrong signatures from many addresses are one attack
 */
export function createAuthenticationFailureService({
  database,
  records,
  limiter,
  bruteForce,
}: {
  database: Queryable;
  records: Pick<RecordService, 'write'>;
  limiter: FailureLimiter;
  bruteForce: Pick<BruteForceService, 'failed' | 'goesOn'>;
}) {
  return {
    /**
     * Counts and records a failure. Beyond the limit nothing is written.
     * @param failure.stage the route of the failure @param failure.holder.key.fingerprint null for a key that is gone
     * @returns the error of the answer: the error of the refusal, or `rate_limited` after too many guesses
     */
    report: async (
      context: RequestContext,
      failure: {
        readonly stage: keyof typeof METHODS;
        readonly holder: KnownHolder;
        readonly refusal: Refusal;
      },
    ): Promise<ServiceError> => {
      const { stage, holder, refusal } = failure;
      const { key, agent } = holder;
      const error = new ServiceError(refusal.code, { detail: refusal.detail });
      const method = METHODS[stage];
      // A refresh token cannot be guessed. The limit only keeps its failures from filling the audit log.
      const isGuess = stage !== 'refresh' && !NOBODYS_GUESS.has(refusal.code);
      const counter = `${context.tenant.id}:${key.id}:${addressGroup(context.address)}`;
      const { blocked } = await limiter.failed(isGuess ? counter : `${counter}:late`);
      const isForged = refusal.code === 'invalid_signature';
      if (blocked !== undefined) {
        if (isForged) await bruteForce.goesOn(key.id);
        return isGuess ? tooManyFailures(blocked) : error;
      }
      const tally = await store.count(database, `${key.id}:${method}:${refusal.code}`, WINDOW);
      const episode = isForged ? await bruteForce.failed(key.id) : undefined;
      const entryOf = (action: string, data: JsonObject): AuditEntry => ({
        action,
        outcome: 'failure',
        target: { type: 'agent', id: agent.id },
        keyId: key.id,
        reason: refusal.code,
        data: { ...data, key_fingerprint: key.fingerprint },
      });
      const entry = entryOf(LOGIN_FAILURE, { method, stage });
      const facts = {
        agent_id: agent.id,
        key_id: key.id,
        key_fingerprint: key.fingerprint,
        address: context.address,
      };
      const told = describeFailure(refusal.code, tally, episode, { ...facts, method, stage });
      const alarms = told.filter(({ type }) => type !== LOGIN_FAILURE);
      await records.write(database, context, {
        audit: [entry, ...alarms.map(({ type, data }) => entryOf(type, data))],
        events: told,
      });
      return error;
    },
  };
}

export type AuthenticationFailureService = ReturnType<typeof createAuthenticationFailureService>;

/** The events of one failure: usually none, because of the limit of one a minute. */
function describeFailure(
  reason: ErrorCode,
  { untold }: FailureTally,
  episode: Episode | undefined,
  facts: JsonObject,
): EmittedEvent[] {
  const emitted: EmittedEvent[] = [];
  if (untold !== null) {
    const data = { ...facts, reason, count: untold };
    emitted.push({ type: LOGIN_FAILURE, data });
    if (reason === 'key_revoked')
      emitted.push({
        type: 'security.suspicious_activity',
        data: { ...facts, kind: 'revoked_key_used', count: untold },
      });
  }
  if (episode !== undefined)
    emitted.push({
      type: 'security.brute_force.detected',
      data: { ...facts, failures: episode.failures, window_seconds: episode.windowSeconds },
    });
  return emitted;
}

function tooManyFailures(blocked: LimitReached): ServiceError {
  return new ServiceError('rate_limited', {
    detail: 'Too many failed authentications with this key from this address.',
    ...blocked,
  });
}

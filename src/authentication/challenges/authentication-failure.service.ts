// Records failed authentications with a known key or a stored refresh token: an audit entry for each failure, and at
// most one event a minute. The records are committed although the answer is an error.

import type { AuditEntry } from '../../audit/audit.ts';
import type { BruteForceService, Episode } from '../../audit/brute-force.service.ts';
import type { EmittedEvent, JsonObject } from '../../events/event.ts';
import { addressGroup } from '../../platform/address-group.ts';
import type { RequestContext } from '../../platform/context.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import type { ErrorCode } from '../../platform/errors/catalogue.ts';
import { type FailureCounter, type LimitReached, ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { RecordService } from '../../webhooks/intake/record.service.ts';
import type { FailureTally } from './authentication-failure.store.ts';
import * as store from './authentication-failure.store.ts';
import type { Refusal } from './challenge.ts';

/** The name of each route's method in audit entries and events. */
const METHODS = {
  challenge: 'challenge_response',
  verify: 'challenge_response',
  refresh: 'refresh_token',
} as const;
const LOGIN_FAILURE = 'auth.login.failure';

/** Seconds in which all failures of one key for one reason share one event. */
const WINDOW = 60;

type KnownHolder = {
  readonly key: { readonly id: string; readonly fingerprint: string | null };
  readonly agent: { readonly id: string };
};

/**
 * A correct signature can get these errors too, after a lost race or with a late answer, so they do not indicate
 * guessing. They are counted separately. Beyond the limit they are still answered with their code, but no longer
 * recorded.
 */
const NOBODYS_GUESS: ReadonlySet<ErrorCode> = new Set(['challenge_used', 'challenge_expired']);

export type AuthenticationFailureNeeds = {
  database: Queryable;
  records: Pick<RecordService, 'write'>;
  /** Counts by key and address, so that failures from one address do not block another address. */
  limiter: FailureCounter;
  /** Counts wrong signatures by key, so that wrong signatures from many addresses are one attack. */
  bruteForce: Pick<BruteForceService, 'failed' | 'goesOn'>;
};

/**
 * Creates the records of failed authentications. Source: Specification, "Event types" (`auth.login.failure`,
 * `security.*`).
 */
export class AuthenticationFailureService extends Service<AuthenticationFailureNeeds> {
  /**
   * Counts and records a failure. Beyond the limit nothing is written.
   * @param failure.stage the route of the failure @param failure.holder.key.fingerprint null when the key is deleted
   * @returns the error for the answer: the given refusal, or `rate_limited` after too many guesses
   */
  report = async (
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
    // A refresh token cannot be guessed. Its failures are limited only so that they do not fill the audit log.
    const isGuess = stage !== 'refresh' && !NOBODYS_GUESS.has(refusal.code);
    const counter = `${context.tenant.id}:${key.id}:${addressGroup(context.address)}`;
    const { blocked } = await this.needs.limiter.failed(isGuess ? counter : `${counter}:late`);
    const isForged = refusal.code === 'invalid_signature';
    if (blocked !== undefined) {
      if (isForged) await this.needs.bruteForce.goesOn(key.id);
      return isGuess ? tooManyFailures(blocked) : error;
    }
    const tally = await store.count(this.needs.database, `${key.id}:${method}:${refusal.code}`, WINDOW);
    const episode = isForged ? await this.needs.bruteForce.failed(key.id) : undefined;
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
    await this.needs.records.write(this.needs.database, context, {
      audit: [entry, ...alarms.map(({ type, data }) => entryOf(type, data))],
      events: told,
    });
    return error;
  };
}

/** Returns the events of one failure: usually none, because only one event is emitted a minute. */
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

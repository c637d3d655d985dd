// Counts and records refused enrollments. The records are committed although the request fails. They contain no token
// and no key.

import type { AuditEntry } from '../../audit/audit.ts';
import type { BruteForceService, Episode } from '../../audit/brute-force.service.ts';
import type { JsonObject } from '../../events/event.ts';
import { addressGroup } from '../../platform/address-group.ts';
import type { RequestContext } from '../../platform/context.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import type { ErrorCode } from '../../platform/errors/catalogue.ts';
import { type FailureCounter, type LimitReached, ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { RecordService } from '../../webhooks/intake/record.service.ts';
import type { EnrollmentToken } from './enrollment.ts';

const BRUTE_FORCE_DETECTED = 'security.brute_force.detected';

/** An agent with a valid token and key can get these errors too, so they are counted separately from guesses. */
const NOBODYS_GUESS: ReadonlySet<ErrorCode> = new Set(['invalid_grant', 'policy_denied', 'key_exists']);

export type EnrollmentFailureNeeds = {
  database: Queryable;
  records: Pick<RecordService, 'write'>;
  /** Counts by token and address; all unknown tokens are counted together. */
  limiter: FailureCounter;
  /**
   * Counts guesses by token, so that guesses from many addresses are one attack; guesses with unknown tokens are
   * counted by address.
   */
  bruteForce: Pick<BruteForceService, 'failed' | 'goesOn'>;
};

/** Creates the records of failed enrollments. */
export class EnrollmentFailureService extends Service<EnrollmentFailureNeeds> {
  /**
   * Counts and records a failure. Beyond the limit nothing is written. A failure with an unknown token is only
   * counted, unless it is part of an attack.
   * @returns the error for the answer: the given one, or `rate_limited` after too many guesses
   */
  report = async (
    context: RequestContext,
    token: EnrollmentToken | undefined,
    error: ServiceError,
  ): Promise<ServiceError> => {
    const isGuess = token === undefined || !NOBODYS_GUESS.has(error.code);
    const counter = `${context.tenant.id}:${token?.id ?? 'unknown'}:${addressGroup(context.address)}`;
    const guessed = token?.id ?? `enrollment:${counter}`;
    const { blocked } = await this.needs.limiter.failed(isGuess ? counter : `${counter}:late`);
    if (blocked !== undefined) {
      if (!isGuess) return error;
      await this.needs.bruteForce.goesOn(guessed);
      return tooManyFailures(blocked);
    }
    const episode = isGuess ? await this.needs.bruteForce.failed(guessed) : undefined;
    const entries = token === undefined ? [] : [describeFailure(token, error.code)];
    if (episode === undefined)
      await this.needs.records.write(this.needs.database, context, { audit: entries });
    else await this.#alarm(context, token, { reason: error.code, entries, episode });
    return error;
  };

  #alarm = async (
    context: RequestContext,
    token: EnrollmentToken | undefined,
    { reason, entries, episode }: { reason: ErrorCode; entries: readonly AuditEntry[]; episode: Episode },
  ): Promise<void> => {
    const known: JsonObject =
      token === undefined ? {} : { agent_id: token.agentId, enrollment_token_id: token.id };
    const { failures, windowSeconds } = episode;
    const facts = { method: 'enrollment', address: context.address, failures, window_seconds: windowSeconds };
    const data = { ...known, ...facts };
    await this.needs.records.write(this.needs.database, context, {
      audit: [
        ...entries,
        { action: BRUTE_FORCE_DETECTED, outcome: 'failure', reason, target: targetOf(token), data },
      ],
      events: [{ type: BRUTE_FORCE_DETECTED, data }],
    });
  };
}

const targetOf = (token: EnrollmentToken | undefined) =>
  token === undefined ? undefined : { type: 'enrollment_token', id: token.id };

function describeFailure(token: EnrollmentToken, reason: ErrorCode): AuditEntry {
  return {
    action: 'agent.enrollment_token.used',
    outcome: 'failure',
    reason,
    target: targetOf(token),
    data: { agent_id: token.agentId },
  };
}

function tooManyFailures(blocked: LimitReached): ServiceError {
  return new ServiceError('rate_limited', {
    detail: 'Too many failed enrollments from this address.',
    ...blocked,
  });
}

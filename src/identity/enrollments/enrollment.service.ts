// Creates enrollment tokens for agents. An agent registers one key with its token, so it needs no other credential and
// keeps its private key. Only the hash of a token is stored.

import type { AuditEntry } from '../../audit/audit.ts';
import type { RequestContext } from '../../platform/context.ts';
import { hashSecret, newSecret } from '../../platform/crypto/opaque-secret.node.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Page, PageRequest } from '../../platform/database/page.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import type { ErrorCode } from '../../platform/errors/catalogue.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { RecordService } from '../../webhooks/intake/record.service.ts';
import type { AgentService } from '../agents/agent.service.ts';
import { checkCredentialGrantor } from '../keys/credential-grantor.ts';
import type { AgentKey, KeyService, NewKey } from '../keys/key.service.ts';
import type { StoredEnrollmentToken } from './enrollment.store.ts';
import * as store from './enrollment.store.ts';
import { type EnrollmentToken, judgePresented, statusAt, TOKEN_PREFIX } from './enrollment.ts';
import type { EnrollmentFailureService } from './enrollment-failure.service.ts';

export type CreatedEnrollmentToken = { readonly enrollment: StoredEnrollmentToken; readonly token: string };

export type Enrollment = Omit<NewKey, 'proof'> & { readonly token: string; readonly proof: string };

/** Errors that refuse an enrollment with a known token. Other errors are faults of the service. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  'invalid_grant',
  'policy_denied',
  'invalid_request',
  'key_exists',
]);

export type EnrollmentNeeds = {
  database: Pick<Database, 'transaction' | 'query'>;
  agents: Pick<AgentService, 'get' | 'hold' | 'holdIfThere'>;
  keys: Pick<KeyService, 'prove' | 'add'>;
  records: Pick<RecordService, 'write'>;
  failures: Pick<EnrollmentFailureService, 'report'>;
};

/** Manages enrollment tokens, and registers keys with them. */
export class EnrollmentService extends Service<EnrollmentNeeds> {
  /**
   * Creates a token. It cannot be used while the agent is suspended.
   * @throws ServiceError `not_found` (agent); `insufficient_scope` when the principal lacks one of the agent's scopes
   */
  create = (context: RequestContext, agentId: string): Promise<CreatedEnrollmentToken> =>
    this.needs.database.transaction(context, async (transaction) => {
      const agent = await this.needs.agents.hold(transaction, context, agentId);
      checkCredentialGrantor(context.principal, agent);
      const token = TOKEN_PREFIX + newSecret();
      const hash = hashSecret(token);
      const enrollment = await store.insert(transaction, newId(), context.tenant.id, agent.id, hash);
      const data = { expires_at: enrollment.expiresAt.toISOString() };
      await this.needs.records.write(transaction, context, {
        audit: [describe('created', enrollment, { data })],
      });
      return { enrollment, token };
    });

  /** Returns a page, newest first. @throws ServiceError `not_found` */
  list = async (
    context: RequestContext,
    agentId: string,
    request: PageRequest,
  ): Promise<Page<StoredEnrollmentToken>> => {
    await this.needs.agents.get(context, agentId);
    return store.list(context.transaction ?? this.needs.database, request, context.tenant.id, agentId);
  };

  /**
   * Revokes a token. A revoked or expired token is not changed.
   * @throws ServiceError `not_found`; `conflict` for a used token, because its key has to be revoked instead
   */
  revoke = (context: RequestContext, agentId: string, id: string): Promise<void> =>
    this.needs.database.transaction(context, async (transaction) => {
      await this.needs.agents.hold(transaction, context, agentId);
      const token = await store.lock(transaction, context.tenant.id, agentId, id);
      if (token === undefined)
        throw new ServiceError('not_found', { detail: 'The agent has no enrollment token with this id.' });
      const status = statusAt(token, token.readAt);
      if (status === 'used')
        throw new ServiceError('conflict', {
          detail: `The enrollment token was used: revoke the key ${token.keyId} if that was not the agent.`,
        });
      if (status !== 'open') return;
      await store.revoke(transaction, id);
      await this.needs.records.write(transaction, context, { audit: [describe('revoked', token)] });
    });

  /**
   * Registers a key with a token. Only a successful registration consumes the token. Emits
   * `admin.agent.key.registered` and `admin.agent.key.verified`.
   * @throws ServiceError `invalid_grant` (unknown, used, revoked or expired token; deleted agent), `policy_denied`
   * (suspended agent), `invalid_request` naming the key or the proof, `key_exists`; `rate_limited` instead after too
   * many guesses
   */
  enroll = async (context: RequestContext, input: Enrollment): Promise<AgentKey> => {
    const presented = await store.findPresented(
      this.needs.database,
      context.tenant.id,
      hashSecret(input.token),
    );
    if (presented === undefined)
      throw await this.needs.failures.report(context, undefined, refused('The enrollment token is unknown.'));
    const { token } = presented;
    const refusal = judgePresented(presented);
    if (refusal !== undefined)
      throw await this.needs.failures.report(
        context,
        token,
        new ServiceError(refusal.code, { detail: refusal.detail }),
      );
    try {
      return await this.#register(context, token, input);
    } catch (error) {
      if (!(error instanceof ServiceError) || !REFUSALS.has(error.code)) throw error;
      throw await this.needs.failures.report(context, token, error);
    }
  };

  /** Locks the agent until the transaction ends. @throws ServiceError `invalid_grant`, `policy_denied` */
  #admit = async (transaction: Transaction, context: RequestContext, agentId: string): Promise<void> => {
    const agent = await this.needs.agents.holdIfThere(transaction, context, agentId);
    if (agent === undefined) throw refused('The enrollment token has ended with its agent.');
    if (agent.status === 'suspended')
      throw new ServiceError('policy_denied', { detail: 'The agent is suspended.' });
  };

  /** Checks the proof. Then it consumes the token and registers the key, both or neither. */
  #register = async (context: RequestContext, token: EnrollmentToken, input: Enrollment) => {
    // Verified before any row is locked, because it can take time.
    const key = await this.needs.keys.prove(context, token.agentId, input);
    return this.needs.database.transaction(context, async (transaction) => {
      const actor = { kind: 'agent', id: token.agentId } as const;
      const joined = { ...context, transaction, actor };
      await this.#admit(transaction, context, token.agentId);
      if (!(await store.consume(transaction, token.id)))
        throw refused('The enrollment token was used or revoked, or has expired.');
      const terms = { label: input.label ?? null, isVerified: true };
      const registered = await this.needs.keys.add(joined, token.agentId, key, terms);
      await store.noteKey(transaction, token.id, registered.id);
      await this.needs.records.write(transaction, joined, {
        audit: [
          describe('used', token, {
            keyId: registered.id,
            data: { key_fingerprint: registered.fingerprint },
          }),
        ],
      });
      return registered;
    });
  };
}

function refused(detail: string): ServiceError {
  return new ServiceError('invalid_grant', { detail });
}

function describe(
  verb: 'created' | 'revoked' | 'used',
  token: Pick<EnrollmentToken, 'id' | 'agentId'>,
  { keyId, data }: Pick<AuditEntry, 'keyId' | 'data'> = {},
): AuditEntry {
  return {
    action: `agent.enrollment_token.${verb}`,
    outcome: 'success',
    target: { type: 'enrollment_token', id: token.id },
    keyId,
    data: { agent_id: token.agentId, ...data },
  };
}

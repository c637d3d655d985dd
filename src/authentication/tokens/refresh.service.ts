// The refresh grant of the token endpoint. A refresh token is used once. A second use ends its family, and this end is
// committed although the answer is an error.

import { createHash } from 'node:crypto';
import type { JsonObject } from '../../events/event.ts';
import { AGENT_CLIENT_ID } from '../../identity/agents/agent.ts';
import { addressGroup } from '../../platform/address-group.ts';
import type { RequestContext } from '../../platform/context.ts';
import { hashSecret } from '../../platform/crypto/opaque-secret.node.ts';
import { createCoalescer } from '../../platform/database/coalescer.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import { createTurns } from '../../platform/database/turns.ts';
import { untilUnchanged } from '../../platform/database/until-unchanged.ts';
import { invalidField, ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { Happening, PreparedRecords, RecordService } from '../../webhooks/intake/record.service.ts';
import type { AuthenticationFailureService } from '../challenges/authentication-failure.service.ts';
import type { RefreshTokenName, Rotation } from './refresh-rotation.store.ts';
import * as store from './refresh-rotation.store.ts';
import type { SuccessorDeriver } from './refresh-successor.node.ts';
import {
  checkRefreshClient,
  decideRefresh,
  describeRequest,
  judgeRefresh,
  REFRESH_TOKEN,
  type RefreshRequest,
  refreshRefused,
  type StoredRefreshToken,
} from './refresh-token.ts';
import type { IssuedAccessToken, TokenService } from './token.service.ts';
import { answerOf, type GrantRequest, type TokenAnswer } from './token-answer.ts';

/**
 * Uses of one refresh token run one after the other. The waiting uses, and milliseconds to wait: less than the grace.
 */
const USES = { share: () => 1, queue: 100, patience: 8_000 };

/** The tokens of one use. They are valid only after the commit. */
type Prepared = {
  readonly scopes: readonly string[];
  readonly audience: string;
  readonly issued: IssuedAccessToken;
  /** Thumbprint of the key to which the access token is bound. */
  readonly jkt: string | undefined;
};

export type RefreshNeeds = {
  database: Pick<Database, 'query' | 'transaction'>;
  successors: SuccessorDeriver;
  tokens: Pick<TokenService, 'issueAccessToken' | 'endAccessTokensOf'>;
  records: Pick<RecordService, 'prepare' | 'write'>;
  failures: Pick<AuthenticationFailureService, 'report'>;
};

/** The refresh grant (RFC 6749 §6; RFC 9700 §4.14). */
export class RefreshService extends Service<RefreshNeeds> {
  readonly #reads = createCoalescer<RefreshTokenName, StoredRefreshToken | undefined>({
    run: (names) => store.find(this.needs.database, names),
    limits: { batches: 1 },
  });
  readonly #rotations = createCoalescer<Rotation & Pick<PreparedRecords, 'audit'>, boolean>({
    run: (batch) => store.rotateTogether(this.needs.database, batch),
  });
  readonly #uses = createTurns(USES);

  /**
   * Exchanges a refresh token for its successor and an access token. The client has no credentials, because the
   * refresh token is the credential; its `client_id` is the same for all agents. An identical request within 10 s
   * from the same address gets the same successor if that successor is unused, three times at most.
   * @throws ServiceError `invalid_request` without a token, `invalid_client` for another `client_id`,
   * `invalid_grant`, `invalid_scope`, `invalid_target`, `invalid_dpop_proof`, `use_dpop_nonce`
   */
  grant = async (
    context: RequestContext,
    { authorization, parameters, proveKey }: GrantRequest,
  ): Promise<TokenAnswer> => {
    const { refresh_token: text, client_id: clientId, scope, resource } = parameters;
    checkRefreshClient(clientId, AGENT_CLIENT_ID);
    if (authorization !== undefined || parameters.client_assertion !== undefined)
      throw new ServiceError('invalid_client', {
        detail: "An agent's refresh token needs no client authentication.",
      });
    if (text === undefined) throw invalidField('body.refresh_token', 'is missing');
    // A proof beside an invented token leaves no row.
    const key = await proveKey(() => this.#find(context, text));
    const asked = { scope, resource, jkt: key?.jkt };
    const digest = createHash('sha256')
      .update(describeRequest(asked, addressGroup(context.address)))
      .digest();
    const name = hashSecret(text).toString('base64');
    return this.#uses.run(`${context.tenant.id}:${name}`, () =>
      untilUnchanged(() => this.#use(context, text, { ...asked, clientId, digest })),
    );
  };

  #find = async (context: RequestContext, text: string): Promise<StoredRefreshToken> => {
    const token = await this.#reads.add({ tenantId: context.tenant.id, hash: hashSecret(text) });
    if (token === undefined) throw refreshRefused();
    return token;
  };

  /** Runs `decide` and records a refusal. The record is committed although the answer is an error. */
  #recorded = async <T>(context: RequestContext, token: StoredRefreshToken, decide: () => T): Promise<T> => {
    try {
      return decide();
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const holder = { key: { id: token.keyId, fingerprint: token.key.fingerprint }, agent: token.agent };
      const refusal = { code: error.code, detail: error.message };
      await this.needs.failures.report(context, { stage: 'refresh', holder, refusal });
      throw error;
    }
  };

  /** Signs before the refresh token is spent, so that the agent keeps its refresh token when signing fails. */
  #prepare = async (
    context: RequestContext,
    token: StoredRefreshToken,
    { scopes, audience }: { readonly scopes: readonly string[]; readonly audience: string },
    jkt: string | undefined,
  ): Promise<Prepared> => {
    const { id: sub, name, capabilities } = token.agent;
    context.countClient?.(sub);
    const grant = {
      sub,
      audience,
      scopes,
      clientId: token.clientId,
      agent: { name, capabilities },
      jkt,
    };
    const issued = await this.needs.tokens.issueAccessToken(context.tenant, grant);
    return { scopes, audience, issued, jkt };
  };

  /**
   * Spends the token in a statement that concurrent requests share, or in a separate transaction when the token has a
   * subscriber or its rows are locked.
   * @returns the text of its successor; undefined when a concurrent request or a change was first
   */
  #rotate = async (
    context: RequestContext,
    token: StoredRefreshToken,
    given: { text: string; digest: Uint8Array; jkt: string | undefined; prepared: Prepared },
  ): Promise<string | undefined> => {
    const id = newId();
    const text = this.needs.successors.make(given.text, id);
    const rotation: Rotation = {
      tokenId: token.id,
      version: token.version,
      request: given.digest,
      successor: {
        id,
        hash: hashSecret(text),
        audience: token.audience,
        jkt: token.jkt ?? given.jkt,
        accessTokenId: given.prepared.issued.tokenId,
      },
    };
    const happening = describe(token, given.prepared);
    if (!token.isHeard) {
      const { audit } = this.needs.records.prepare(context, { audit: happening.audit });
      if (await this.#rotations.add({ ...rotation, audit })) return text;
    }
    return this.needs.database.transaction({ tenant: context.tenant }, async (unit) => {
      if (!(await store.rotate(unit, rotation))) return undefined;
      await this.needs.records.write(unit, context, happening);
      return text;
    });
  };

  /**
   * Issues the successor again.
   * @returns its text; undefined when it was used or has ended, or agent or key has changed
   */
  #repeat = async (
    context: RequestContext,
    token: StoredRefreshToken,
    successor: { readonly id: string; readonly hash: Uint8Array },
    given: { text: string; prepared: Prepared },
  ): Promise<string | undefined> => {
    const text = this.needs.successors.remake(given.text, successor);
    if (text === undefined) throw refreshRefused();
    return this.needs.database.transaction({ tenant: context.tenant }, async (unit) => {
      const { tokenId } = given.prepared.issued;
      if (!(await store.repeat(unit, token.id, successor.id, tokenId, token.version))) return undefined;
      await this.needs.records.write(unit, context, describe(token, given.prepared, { repeated: true }));
      return text;
    });
  };

  /**
   * Ends the family of a token that was used a second time. Only one of several concurrent second uses is recorded.
   * Emits `security.refresh_token.reuse`, and `auth.token.revoked` as any end of a family.
   */
  #endFamily = async (context: RequestContext, token: StoredRefreshToken): Promise<void> => {
    await this.needs.database.transaction({ tenant: context.tenant }, async (unit) => {
      const ended = await store.endFamily(unit, token.familyId, 'reuse');
      if (ended.length === 0) return;
      await this.needs.tokens.endAccessTokensOf(unit, ended);
      const facts = { family_id: token.familyId, client_id: token.clientId, address: context.address };
      const type = 'security.refresh_token.reuse';
      const { familyId: family_id, clientId: client_id, agent } = token;
      const revoked = { token_type: 'refresh_token', family_id, sub: agent.id, client_id };
      await this.needs.records.write(unit, context, {
        audit: [
          { ...entryOf(token), action: type, outcome: 'failure', reason: 'invalid_grant', data: facts },
        ],
        events: [
          { type, data: { ...subjectOf(token), ...facts } },
          { type: 'auth.token.revoked', data: { ...revoked, revoked_by: client_id, cause: type } },
        ],
      });
    });
  };

  /**
   * Decides whether the stored token is rotated, repeated or refused, and carries that out.
   * @returns undefined when a concurrent request changed the token, its agent or its key
   * @throws ServiceError `invalid_grant` after a reuse; the end of the family is committed
   */
  #use = async (
    context: RequestContext,
    text: string,
    request: RefreshRequest & { readonly clientId: string | undefined; readonly digest: Uint8Array },
  ): Promise<TokenAnswer | undefined> => {
    const token = await this.#find(context, text);
    const judgement = await this.#recorded(context, token, () =>
      judgeRefresh(token, request, context.tenant),
    );
    if (judgement.verdict === 'reuse') {
      await this.#endFamily(context, token);
      throw refreshRefused();
    }
    const decided = await this.#recorded(context, token, () => decideRefresh(token, request));
    const prepared = await this.#prepare(context, token, decided, request.jkt);
    const { digest, jkt } = request;
    const refreshToken =
      judgement.verdict === 'rotate'
        ? await this.#rotate(context, token, { text, digest, jkt, prepared })
        : await this.#repeat(context, token, judgement.successor, { text, prepared });
    if (refreshToken === undefined) return undefined;
    return {
      ...answerOf({ grant: prepared, issued: prepared.issued }),
      refresh_token: refreshToken,
    };
  };
}

function describe(
  token: StoredRefreshToken,
  prepared: Prepared,
  mark: { readonly repeated?: true } = {},
): Required<Happening> {
  const { scopes, audience, issued, jkt } = prepared;
  const data = { method: REFRESH_TOKEN, scope: scopes.join(' '), audience, ...mark };
  const bound = jkt === undefined ? {} : { jkt };
  const facts: JsonObject = {
    token_id: issued.tokenId,
    client_id: token.clientId,
    expires_in: issued.expiresIn,
  };
  return {
    audit: [
      {
        ...entryOf(token),
        action: 'auth.token.issued',
        outcome: 'success',
        tokenId: issued.tokenId,
        data: { ...data, ...bound },
      },
    ],
    events: [{ type: 'auth.token.issued', data: { ...subjectOf(token), ...data, ...facts } }],
  };
}

function entryOf({ agent, keyId }: StoredRefreshToken) {
  return { actor: { kind: 'agent', id: agent.id }, target: { type: 'agent', id: agent.id }, keyId } as const;
}

function subjectOf({ agent, keyId }: StoredRefreshToken): JsonObject {
  return { agent_id: agent.id, key_id: keyId };
}

// Introspection (RFC 7662) and revocation (RFC 7009) for a tenant's applications. A token of another tenant gets the
// same answer as an unknown token.

import { ACCESS_REFUSAL, type AccessRecordService } from '../../audit/access-record.service.ts';
import type { AuditEntry } from '../../audit/audit.ts';
import type { JsonObject } from '../../events/event.ts';
import type { Client } from '../../identity/applications/application.service.ts';
import type { RequestContext } from '../../platform/context.ts';
import { hashSecret } from '../../platform/crypto/opaque-secret.node.ts';
import type { Database } from '../../platform/database/database.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import { invalidField, ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { RecordService } from '../../webhooks/intake/record.service.ts';
import type { UserService } from '../users/user.service.ts';
import { principalOf, type SignedClaims } from './access-token.ts';
import type { ClientAuthenticationService } from './client-authentication.service.ts';
import { checkAgentOf } from './client-credentials.ts';
import { describeAccessToken, describeRefreshToken, INACTIVE } from './introspection.ts';
import * as refreshTokens from './refresh-rotation.store.ts';
import { isLive, type StoredRefreshToken } from './refresh-token.ts';
import type { RevocationService } from './revocation.service.ts';
import type { TokenService } from './token.service.ts';
import { type GrantRequest, type TokenParameters, withTokenHeaders } from './token-answer.ts';

/** Errors of an access token that mean "not active". Any other error fails the request. */
const DEAD: readonly string[] = ['invalid_token', 'token_expired', 'token_revoked'];

type Request = Pick<GrantRequest, 'authorization' | 'parameters'>;

export type IntrospectionNeeds = {
  database: Pick<Database, 'query' | 'transaction'>;
  clients: Pick<ClientAuthenticationService, 'authenticate'>;
  tokens: Pick<TokenService, 'verifyAccessToken' | 'endAccessTokensOf'>;

  revocations: Pick<RevocationService, 'endTokens'>;
  records: Pick<RecordService, 'write'>;
  accesses: Pick<AccessRecordService, 'note'>;
  users: Pick<UserService, 'sealAddress'>;
};

export class IntrospectionService extends Service<IntrospectionNeeds> {
  /**
   * Returns whether a token is active, and its claims. The token type hint is ignored, because access and refresh
   * tokens have different forms.
   * The introspections of a client are on record, at most once a minute.
   * @returns only `{active: false}` for a token that is unknown, expired, spent or revoked, or belongs to another
   * tenant
   * @throws ServiceError `invalid_request` without a token; the errors of client authentication
   */
  introspect = (context: RequestContext, request: Request) =>
    withTokenHeaders(context, async () => {
      const client = await this.#authenticate(context, request, 'introspectToken');
      const answer = await this.#describe(context, readToken(request.parameters));
      this.needs.accesses.note(context, {
        action: 'auth.token.introspected',
        outcome: 'success',
        operation: 'introspectToken',
        actor: { kind: 'application', id: client.id },
        tokenId: 'jti' in answer ? answer.jti : undefined,
        data: { active: answer.active },
      });
      return answer;
    });

  /**
   * Revokes an access token, or a refresh token with its family and the family's access tokens. Emits
   * `auth.token.revoked`. For an inactive token nothing changes, and the answer is the same.
   * @throws ServiceError `invalid_request` without a token; the errors of client authentication
   */
  revoke = (context: RequestContext, request: Request): Promise<void> =>
    withTokenHeaders(context, async () => {
      const client = await this.#authenticate(context, request, 'revokeToken');
      const text = readToken(request.parameters);
      if (isJws(text)) {
        const claims = await this.#findAccessToken(context, text);
        if (claims !== undefined) await this.#revokeAccessToken(context, client, claims);
        return;
      }
      const token = await this.#findRefreshToken(context, text);
      if (token !== undefined) await this.#revokeRefreshToken(context, client, token);
    });

  /**
   * @throws ServiceError as client authentication; `invalid_client` or `policy_denied` when the client's agent has
   *   ended
   */
  #authenticate = async (context: RequestContext, request: Request, operation: string): Promise<Client> => {
    const client = await this.needs.clients.authenticate(context, request);
    try {
      checkAgentOf(client);
    } catch (error) {
      const { code: reason } = error as ServiceError;
      const actor = { kind: 'application', id: client.id } as const;
      this.needs.accesses.note(context, { ...ACCESS_REFUSAL, operation, actor, reason });
      throw error;
    }
    return client;
  };

  #describe = async (context: RequestContext, text: string) => {
    if (isJws(text)) {
      const claims = await this.#findAccessToken(context, text);
      return claims === undefined ? INACTIVE : describeAccessToken(claims);
    }
    const token = await this.#findRefreshToken(context, text);
    return token !== undefined && isLive(token) ? describeRefreshToken(token, context.tenant) : INACTIVE;
  };

  /** Returns the claims of an active access token of the tenant; undefined for any other text. */
  #findAccessToken = async ({ tenant }: RequestContext, text: string): Promise<SignedClaims | undefined> => {
    try {
      return await this.needs.tokens.verifyAccessToken(tenant, text);
    } catch (error) {
      if (error instanceof ServiceError && DEAD.includes(error.code)) return undefined;
      throw error;
    }
  };

  #findRefreshToken = async ({ tenant }: RequestContext, text: string) =>
    (await refreshTokens.find(this.needs.database, [{ tenantId: tenant.id, hash: hashSecret(text) }]))[0];

  #record = async (
    unit: Transaction,
    context: RequestContext,
    client: Client,
    entry: Pick<AuditEntry, 'target' | 'keyId' | 'tokenId'>,
    facts: JsonObject,
    { more = {}, audited = {} }: { more?: JsonObject; audited?: JsonObject } = {},
  ): Promise<void> => {
    const actor = { kind: 'application', id: client.id } as const;
    await this.needs.records.write(unit, context, {
      audit: [
        { ...entry, actor, action: 'auth.token.revoked', outcome: 'success', data: { ...facts, ...audited } },
      ],
      events: [{ type: 'auth.token.revoked', data: { ...facts, ...more, revoked_by: client.id } }],
    });
  };

  #revokeAccessToken = (context: RequestContext, client: Client, claims: SignedClaims) =>
    this.needs.database.transaction({ tenant: context.tenant }, async (unit) => {
      const { jti, sub, client_id, exp } = claims;
      await this.needs.revocations.endTokens(unit, context.tenant.id, claims, [
        { id: jti, expiresAt: exp * 1000 },
      ]);
      const { kind, agentId = sub } = principalOf(claims);
      const target = { type: kind, id: agentId };
      const facts = { token_type: 'access_token', token_id: jti, sub, client_id };
      const more = { expires_at: new Date(exp * 1000).toISOString() };
      const isOfUser = claims.act !== undefined;
      const sealed = isOfUser ? await this.needs.users.sealAddress(unit, context, sub) : context;
      const audited: JsonObject = isOfUser ? { subject_id: sub } : {};
      await this.#record(unit, sealed, client, { target, tokenId: jti }, facts, { more, audited });
    });

  /** Ends the family, and the access tokens that were issued with its refresh tokens (RFC 7009 §2.1). */
  #revokeRefreshToken = (context: RequestContext, client: Client, token: StoredRefreshToken) =>
    this.needs.database.transaction({ tenant: context.tenant }, async (unit) => {
      const ended = await refreshTokens.endFamily(unit, token.familyId, 'revoked');
      if (ended.length === 0) return;
      await this.needs.tokens.endAccessTokensOf(unit, ended);
      const { agent, keyId, clientId, familyId } = token;
      const facts = { token_type: 'refresh_token', family_id: familyId, sub: agent.id, client_id: clientId };
      await this.#record(unit, context, client, { target: { type: 'agent', id: agent.id }, keyId }, facts);
    });
}

function readToken({ token }: TokenParameters): string {
  if (token === undefined) throw invalidField('body.token', 'is missing');
  return token;
}

/** Returns whether the text has the form of an access token (a JWS). A refresh token is base64url without a dot. */
function isJws(text: string): boolean {
  return text.includes('.');
}

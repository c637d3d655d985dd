// Signs people in to the console, and gives their browser short-lived tokens of the application they signed in as.

import type { EmittedEvent } from '../../events/event.ts';
import type { ApplicationService, Client } from '../../identity/applications/application.service.ts';
import { addressGroup } from '../../platform/address-group.ts';
import type { RequestContext, Tenant } from '../../platform/context.ts';
import { hashSecret, newSecret } from '../../platform/crypto/opaque-secret.node.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import { untilUnchanged } from '../../platform/database/until-unchanged.ts';
import { type FailureCounter, ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { RecordService } from '../../webhooks/intake/record.service.ts';
import { findNeedOfProof } from '../dpop/required-proof.ts';
import type { AccessTokenGrant } from '../tokens/access-token.ts';
import type { ClientCredentials } from '../tokens/basic-credentials.ts';
import type { ClientAuthenticationService } from '../tokens/client-authentication.service.ts';
import { decideGrant } from '../tokens/client-credentials.ts';
import type { ClientRecordService } from '../tokens/client-record.service.ts';
import type { RevocationService } from '../tokens/revocation.service.ts';
import { madeAt } from '../tokens/revocation.ts';
import type { TokenService } from '../tokens/token.service.ts';
import * as store from './session.store.ts';

export type ConsoleToken = {
  readonly accessToken: string;
  readonly expiresIn: number;
  readonly grant: AccessTokenGrant;
  readonly client: Client;
};

export type ConsoleSessionNeeds = {
  database: Pick<Database, 'transaction' | 'query'>;
  records: Pick<RecordService, 'write'>;
  applications: Pick<ApplicationService, 'findClient'>;
  clients: Pick<ClientAuthenticationService, 'authenticate'>;
  /** Records the tokens of sessions, as those of the token endpoint. */
  clientRecords: Pick<ClientRecordService, 'success'>;
  tokens: Pick<TokenService, 'issueAccessToken'>;
  revocations: Pick<RevocationService, 'isRevoked' | 'endTokens'>;
  /** Counts wrong codes by address. */
  failures: FailureCounter;
};

export class ConsoleSessionService extends Service<ConsoleSessionNeeds> {
  /**
   * Signs in with the credentials of an application. @returns the secret of the session's cookie
   * @throws ServiceError as the token endpoint for wrong credentials; `policy_denied`, `unauthorized_client`
   */
  signIn = async (
    context: RequestContext,
    { clientId, clientSecret }: ClientCredentials,
  ): Promise<string> => {
    refuseProfile(context.tenant);
    const pair = [clientId, clientSecret].map(encodeURIComponent).join(':');
    const authorization = `Basic ${Buffer.from(pair).toString('base64')}`;
    const client = await this.needs.clients.authenticate(context, { authorization, parameters: {} });
    decide(context.tenant, client);
    return this.needs.database.transaction(context, (unit) =>
      this.#begin(unit, context, client, client.proof.credential ?? null),
    );
  };

  /**
   * Signs in with the code of a link, which is used up. @returns the secret of the session's cookie
   * @throws ServiceError `invalid_grant`, `rate_limited`, `policy_denied`, `unauthorized_client`
   */
  redeem = async (context: RequestContext, code: string): Promise<string> => {
    refuseProfile(context.tenant);
    const tenantId = context.tenant.id;
    const place = [tenantId, hashSecret(code)] as const;
    const found = await store.findCode(this.needs.database, ...place);
    const client = found && (await this.needs.applications.findClient(tenantId, found.applicationId));
    if (!client) throw await this.#refuseCode(context);
    decide(context.tenant, client);
    const secret = await this.needs.database.transaction(context, async (unit) =>
      (await store.takeCode(unit, ...place)) ? this.#begin(unit, context, client, null) : undefined,
    );
    if (secret === undefined) throw await this.#refuseCode(context);
    return secret;
  };

  /**
   * Issues a token of the session's application for the management API, and records its use.
   * @param secret that of the cookie
   * @throws ServiceError `invalid_token` without a live session; `policy_denied`, `unauthorized_client`
   */
  issueToken = (context: RequestContext, secret: string | undefined): Promise<ConsoleToken> =>
    untilUnchanged(() => this.#tryToken(context, secret));

  /** Ends a session and its tokens, each with `auth.token.revoked`. Without one it does nothing. */
  signOut = async (context: RequestContext, secret: string | undefined): Promise<void> => {
    if (secret === undefined) return;
    const { id: tenantId } = context.tenant;
    const place = [tenantId, hashSecret(secret)] as const;
    const session = await store.find(this.needs.database, ...place);
    const client = session && (await this.needs.applications.findClient(tenantId, session.applicationId));
    await this.needs.database.transaction(context, async (unit) => {
      const ended = await store.remove(unit, ...place);
      if (ended === undefined) return;
      const { id, applicationId, tokenIds } = ended;
      const cause = 'console.sign_out';
      const facts = { sub: client?.agent?.id ?? applicationId, client_id: applicationId };
      const tokens = tokenIds.map((token) => ({ id: token }));
      await this.needs.revocations.endTokens(unit, tenantId, facts, tokens);
      const events = tokenIds.map((token_id) => ({
        type: 'auth.token.revoked',
        data: { token_type: 'access_token', token_id, ...facts, revoked_by: applicationId, cause },
      }));
      await this.#write(unit, context, cause, applicationId, { session_id: id }, events);
    });
  };

  /** @returns undefined when the application or its agent has changed meanwhile */
  #tryToken = async (
    context: RequestContext,
    secret: string | undefined,
  ): Promise<ConsoleToken | undefined> => {
    const { tenant } = context;
    const place = [tenant.id, hashSecret(secret ?? '')] as const;
    const session = secret === undefined ? undefined : await store.find(this.needs.database, ...place);
    if (session === undefined || isOfBefore(tenant, session)) throw noSession();
    const client = await this.needs.applications.findClient(tenant.id, session.applicationId);
    if (client === undefined || !holdsSecret(client, session.secretId)) throw noSession();
    const grant = decide(tenant, client);
    if (await this.needs.revocations.isRevoked(asToken(tenant, session, grant))) throw noSession();
    const issued = await this.needs.tokens.issueAccessToken(tenant, grant);
    if (!(await store.use(this.needs.database, ...place, issued.tokenId))) throw noSession();
    const proof = { method: 'console_session', credential: session.id, secretId: session.secretId } as const;
    const isWritten = await this.needs.clientRecords.success(
      context,
      { grant, issued },
      { ...client, proof },
      { waits: true },
    );
    return isWritten ? { ...issued, grant, client } : undefined;
  };

  /** Writes a session. @returns the secret of its cookie, which is stored nowhere */
  #begin = async (
    unit: Transaction,
    context: RequestContext,
    { id: applicationId }: Client,
    secretId: string | null,
  ): Promise<string> => {
    const text = newSecret();
    const id = newId();
    await store.insert(unit, context.tenant.id, hashSecret(text), id, applicationId, secretId);
    await this.#write(unit, context, 'console.sign_in', applicationId, {
      session_id: id,
      method: secretId === null ? 'code' : 'client_secret',
      ...(secretId === null ? {} : { secret_id: secretId }),
    });
    return text;
  };

  #write = (
    unit: Transaction,
    context: RequestContext,
    action: string,
    applicationId: string,
    data: Readonly<Record<string, unknown>>,
    events: readonly EmittedEvent[] = [],
  ) =>
    this.needs.records.write(unit, context, {
      events,
      audit: [
        {
          action,
          outcome: 'success',
          actor: { kind: 'application', id: applicationId },
          target: { type: 'application', id: applicationId },
          data,
        },
      ],
    });

  /** Counts a wrong code and records it, until the limit is reached. @returns the error for the answer */
  #refuseCode = async (context: RequestContext): Promise<ServiceError> => {
    const { blocked } = await this.needs.failures.failed(
      `${context.tenant.id}:${addressGroup(context.address)}`,
    );
    if (blocked !== undefined)
      return new ServiceError('rate_limited', {
        detail: 'Too many wrong codes from this address.',
        ...blocked,
      });
    await this.needs.database.transaction(context, (unit) =>
      this.needs.records.write(unit, context, {
        audit: [
          {
            action: 'console.sign_in',
            outcome: 'failure',
            reason: 'invalid_grant',
            data: { method: 'code' },
          },
        ],
      }),
    );
    return new ServiceError('invalid_grant', {
      detail:
        'The link was used, has expired, or is of another tenant: make another by `countersign console`.',
    });
  };
}

/** @throws ServiceError `policy_denied` when a token of the application would be of no use to the console */
function decide(tenant: Tenant, client: Client): AccessTokenGrant {
  const need = findNeedOfProof(tenant, client, client.agent);
  if (need !== undefined) throw refuse(`${need} A console in the browser can give none.`);
  const grant = decideGrant(client, {}, tenant.baseUrl);
  if (grant.audience !== tenant.audience && grant.audience !== tenant.baseUrl)
    throw refuse("The application's tokens are for another audience than the management API.");
  return grant;
}

const noSession = () =>
  new ServiceError('invalid_token', {
    detail: 'There is no session of the console, or it has ended: sign in.',
  });

const refuse = (detail: string) => new ServiceError('policy_denied', { detail });

/** Before any credential is looked at, so that no code is used up for nothing. */
function refuseProfile(tenant: Tenant): void {
  const need = findNeedOfProof(tenant);
  if (need !== undefined) throw refuse(`${need} A console in the browser can give none.`);
}

/** A session that began before the tenant's latest suspension ended does not come back. */
function isOfBefore({ resumedAt }: Tenant, { id }: store.Session): boolean {
  return resumedAt !== undefined && (madeAt(id) ?? 0) <= resumedAt.getTime();
}

/** A session that a secret began lives while the secret does. */
function holdsSecret({ secrets }: Client, secretId: string | null): boolean {
  return secretId === null || secrets.some(({ id }) => id === secretId);
}

/** The session as a token of its application that was issued when it began: what ends such a token ends the session. */
function asToken(tenant: Tenant, { id, applicationId }: store.Session, { sub }: AccessTokenGrant) {
  const iat = Math.floor((madeAt(id) ?? 0) / 1_000);
  return { jti: id, sub, client_id: applicationId, tenant_id: tenant.id, iat };
}

// Manages applications and their secrets. Only the call that creates a secret returns its text.

import { validate as isUuid } from 'uuid';
import { succeeded } from '../../audit/audit.ts';
import { describeChanges, findChanges } from '../../audit/changes.ts';
import type { RevocationService } from '../../authentication/tokens/revocation.service.ts';
import { allTokensEnded } from '../../events/ended-tokens.ts';
import { createBoundedCache } from '../../platform/bounded-cache.ts';
import type { RequestContext } from '../../platform/context.ts';
import { hashSecret, newSecret } from '../../platform/crypto/opaque-secret.node.ts';
import { createCoalescer } from '../../platform/database/coalescer.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Page, PageRequest } from '../../platform/database/page.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { RecordService } from '../../webhooks/intake/record.service.ts';
import type { ApplicationChange, ApplicationFilters, ClientKey } from './application.store.ts';
import * as store from './application.store.ts';
import {
  type Application,
  type ApplicationSecret,
  type ApplicationWithSecrets,
  type Client,
  type CreatedApplication,
  type CreatedSecret,
  checkApplicationScopes,
  compareKeys,
  LIVE_SECRETS,
  type NewApplication,
  narrows,
  needsGrantor,
} from './application.ts';
import { checkGranted, readAgentScopes } from './application-grantor.service.ts';
import { thumbprintsOf } from './application-jwks.ts';
import * as secrets from './secret.store.ts';

export type {
  Application,
  ApplicationSecret,
  ApplicationWithSecrets,
  Client,
  LinkedAgent,
} from './application.ts';

/** Default overlap in seconds: after a rotation, the previous secret stays valid for this time. */
const OVERLAP_SECONDS = 86_400;

/** Greatest number of clients that a process remembers. */
const REMEMBERED = 10_000;

/** The audit log shows the values of these fields. */
const TOLD = ['name', 'audience', 'scopes', 'grantTypes', 'agentId', 'dpopBoundAccessTokens'];

export type ApplicationNeeds = {
  database: Pick<Database, 'transaction' | 'query' | 'model'>;
  records: Pick<RecordService, 'write'>;
  /** Ends the tokens of a principal, here of an application: all of them, or those that were issued until now. */
  tokens: Pick<RevocationService, 'endPrincipal' | 'admitPrincipal'>;
};

export class ApplicationService extends Service<ApplicationNeeds> {
  readonly #clients = createCoalescer<ClientKey, Client | undefined>({
    run: (keys) => store.findClients(this.needs.database, keys),
    limits: { batches: 1 },
  });
  readonly #remembered = createBoundedCache<Client>({ limit: REMEMBERED });

  /**
   * Creates an application and its first secret (256 bits, base64url).
   * @throws ServiceError `invalid_request` when a scope is unknown, the linked agent lacks a scope, or the agent does
   * not exist; `insufficient_scope` when the principal lacks a scope of the application or its agent
   */
  create = (context: RequestContext, input: NewApplication): Promise<CreatedApplication> =>
    this.needs.database.transaction(context, async (transaction) => {
      const { tenant } = context;
      checkApplicationScopes(input.scopes, await readAgentScopes(transaction, tenant.id, input.agentId));
      const application = await store.insert(transaction, {
        id: newId(),
        tenantId: tenant.id,
        name: input.name,
        audience: input.audience ?? null,
        scopes: [...new Set(input.scopes)],
        grantTypes: input.grantTypes ?? ['client_credentials'],
        agentId: input.agentId ?? null,
        jwks: input.jwks ?? null,
        dpopBoundAccessTokens: input.dpopBoundAccessTokens ?? false,
      });
      const { secret, clientSecret } = await makeSecret(transaction, context, application);
      await this.#record(transaction, context, application.id, 'application.created', {
        scopes: application.scopes,
        agent_id: application.agentId,
        ...(application.jwks === null ? {} : { added_keys: thumbprintsOf(application.jwks) }),
      });
      return { application: { ...application, secrets: [secret] }, clientSecret };
    });

  /** Returns a page of applications, newest first. */
  page = async (
    context: RequestContext,
    request: PageRequest & ApplicationFilters,
  ): Promise<Page<ApplicationWithSecrets>> => {
    const { data, nextCursor } = await store.list(this.needs.database, context.tenant.id, request);
    return { data: await this.#withSecrets(context, data), nextCursor };
  };

  /**
   * Changes the given fields. When no value differs, nothing is written. `agentId: null` unlinks the agent. A change
   * that takes something away, replaces audience or agent, or asks for proofs of a key ends the application's tokens
   * and emits `auth.token.revoked`, as every end of tokens here.
   * @throws ServiceError `not_found`; `invalid_request` when the linked agent lacks a scope or does not exist;
   * `insufficient_scope` when the change needs a grantor, and the principal lacks a scope that the application and
   * its agent have had, have or get
   */
  update = async (
    context: RequestContext,
    id: string,
    change: ApplicationChange,
  ): Promise<ApplicationWithSecrets> => {
    const updated = await this.needs.database.transaction(context, async (transaction) => {
      const before = await lock(transaction, context, id);
      const changes = findChanges(before, followTenant(context, before, change));
      if (Object.keys(changes).length === 0) return before;
      const after = { ...before, ...changes };
      const { scopes, agentId } = after;
      if (needsGrantor(before, changes)) {
        const both = { ...before, scopes: [...before.scopes, ...scopes] };
        const states = agentId === before.agentId ? [both] : [before, after];
        for (const state of states) await checkGranted(transaction, context, state);
      }
      if (changes.scopes !== undefined || agentId !== before.agentId)
        checkApplicationScopes(scopes, await readAgentScopes(transaction, context.tenant.id, agentId));
      const hadScopes = [...new Set([...before.hadScopes, ...before.scopes])];
      const application = await store.update(transaction, id, {
        ...changes,
        ...(changes.scopes !== undefined && { hadScopes }),
      });
      const told = describeChanges(before, changes, TOLD);
      const { added, removed } = compareKeys(before.jwks, changes.jwks);
      const keys = changes.jwks === undefined ? {} : { added_keys: added, removed_keys: removed };
      const ends = narrows(before, changes) ? 'now' : undefined;
      await this.#record(transaction, context, id, 'application.updated', { ...told, ...keys }, ends);
      return application;
    });
    return this.#withSecretsOf(updated);
  };

  /** Deletes an application. After the commit its tokens have ended. @throws ServiceError `not_found` */
  remove = (context: RequestContext, id: string): Promise<void> =>
    this.needs.database.transaction(context, async (transaction) => {
      await lock(transaction, context, id);
      await store.markDeleted(transaction, id);
      await this.#record(transaction, context, id, 'application.deleted', {}, 'ever');
    });

  /**
   * Adds a second secret.
   * @throws ServiceError `not_found`; `conflict` when two secrets are live already; `insufficient_scope` when the
   * principal lacks a scope of the application or its agent
   */
  addSecret = (context: RequestContext, id: string): Promise<CreatedSecret> =>
    this.#changeSecrets(context, id, async (transaction, application, live) => {
      if (live.length >= LIVE_SECRETS)
        throw new ServiceError('conflict', {
          detail: `An application has at most ${LIVE_SECRETS} live secrets.`,
        });
      const created = await makeSecret(transaction, context, application);
      await this.#record(transaction, context, id, 'application.secret_added', {
        secret_id: created.secret.id,
      });
      return created;
    });

  /**
   * Ends a secret and the application's tokens immediately.
   * @throws ServiceError `not_found` unless the application has this live secret
   */
  removeSecret = (context: RequestContext, id: string, secretId: string): Promise<void> =>
    this.#changeSecrets(context, id, async (transaction) => {
      const ended = await secrets.expire(transaction, context.tenant.id, id, [secretId], 0);
      if (ended === 0) throw notFound();
      const data = { secret_id: secretId };
      await this.#record(transaction, context, id, 'application.secret_removed', data, 'now');
    });

  /**
   * Creates a new secret. The previous secret stays valid for the overlap; older ones end immediately, and with them
   * the application's tokens.
   * @param overlapSeconds a day by default; with 0 the previous secret ends immediately too
   * @throws ServiceError `not_found`, `insufficient_scope` as `addSecret`
   */
  rotateSecret = (
    context: RequestContext,
    id: string,
    overlapSeconds: number = OVERLAP_SECONDS,
  ): Promise<CreatedSecret> =>
    this.#changeSecrets(context, id, async (transaction, application, [newest, ...older]) => {
      const { tenant } = context;
      if (newest !== undefined) await secrets.expire(transaction, tenant.id, id, [newest], overlapSeconds);
      if (older.length > 0) await secrets.expire(transaction, tenant.id, id, older, 0);
      const ends = older.length > 0 || (newest !== undefined && overlapSeconds === 0) ? 'now' : undefined;
      const created = await makeSecret(transaction, context, application);
      const data = { secret_id: created.secret.id };
      await this.#record(transaction, context, id, 'application.secret_rotated', data, ends);
      return created;
    });

  /** Reads the client with this id, or undefined. One round trip, which begins after the call and can be shared. */
  findClient = async (tenantId: string, clientId: string): Promise<Client | undefined> => {
    if (!isUuid(clientId)) return undefined;
    const key = { tenantId, clientId };
    const client = await this.#clients.add(key);
    if (client === undefined) this.#remembered.forget(store.nameOf(key));
    else this.#remembered.set(store.nameOf(key), client);
    return client;
  };

  /** Returns all applications, newest first. */
  list = async (context: RequestContext): Promise<ApplicationWithSecrets[]> =>
    this.#withSecrets(context, await store.listAll(this.needs.database, context.tenant.id));

  /** Returns whether the tenant has this application. @param id a UUID */
  exists = ({ tenant }: RequestContext, id: string): Promise<boolean> =>
    store.exists(this.needs.database, tenant.id, id);

  /** @throws ServiceError `not_found` */
  get = async (context: RequestContext, id: string): Promise<ApplicationWithSecrets> =>
    this.#withSecretsOf(await this.#find(context, id));

  /**
   * Returns the client as this process has last read it. It may be outdated: a decision by it must be proved
   * by its `version` in the statement that carries the decision out.
   */
  recallClient = (tenantId: string, clientId: string): Client | undefined =>
    this.#remembered.peek(store.nameOf({ tenantId, clientId }));

  /**
   * Records a change, and ends the tokens that the application has got: it is not known which secret or key got them.
   * @param ends those that were issued until `now`, or for `ever`; absent: none
   */
  #record = async (
    unit: Transaction,
    context: RequestContext,
    id: string,
    action: string,
    data: Record<string, unknown> = {},
    ends?: 'now' | 'ever' | undefined,
  ): Promise<void> => {
    if (ends === 'now') await this.needs.tokens.admitPrincipal(unit, context.tenant.id, id);
    if (ends === 'ever') await this.needs.tokens.endPrincipal(unit, context.tenant.id, id);
    await this.needs.records.write(unit, context, {
      audit: [succeeded(action, { type: 'application', id }, data)],
      events: ends === undefined ? [] : [allTokensEnded({ kind: 'application', id }, ends, action)],
    });
  };

  #find = async ({ tenant }: RequestContext, id: string): Promise<Application> => {
    const application = isUuid(id) ? await store.find(this.needs.database, tenant.id, id) : undefined;
    if (application === undefined) throw notFound();
    return application;
  };

  #withSecrets = async (
    { tenant }: RequestContext,
    applications: readonly Application[],
  ): Promise<ApplicationWithSecrets[]> => {
    const live = await secrets.listLive(
      this.needs.database,
      tenant.id,
      applications.map(({ id }) => id),
    );
    return applications.map((application) => ({ ...application, secrets: live.get(application.id) ?? [] }));
  };

  #withSecretsOf = async (application: Application): Promise<ApplicationWithSecrets> => ({
    ...application,
    secrets: await liveOf(this.needs.database, application),
  });

  /** Changes the secrets of an application, and with them its version: no token is issued by those of before. */
  #changeSecrets = async <T>(
    context: RequestContext,
    id: string,
    work: (transaction: Transaction, application: Application, live: readonly string[]) => Promise<T>,
  ): Promise<T> =>
    this.needs.database.transaction(context, async (transaction) => {
      const application = await lock(transaction, context, id);
      await store.update(transaction, id, {});
      return work(
        transaction,
        application,
        (await liveOf(transaction, application)).map((secret) => secret.id),
      );
    });
}

/** The owner of a secret can act as the application. */
async function makeSecret(
  unit: Transaction,
  context: RequestContext,
  application: Application,
): Promise<CreatedSecret> {
  await checkGranted(unit, context, application);
  const { id: applicationId, tenantId } = application;
  const clientSecret = newSecret();
  const hash = hashSecret(clientSecret);
  return {
    secret: await secrets.insert(unit, { id: newId(), tenantId, applicationId, hash }),
    clientSecret,
  };
}

/** Reads an application, and locks it and its secrets until the transaction ends. */
async function lock(transaction: Transaction, { tenant }: RequestContext, id: string): Promise<Application> {
  const application = isUuid(id) ? await store.lock(transaction, tenant.id, id) : undefined;
  if (application === undefined) throw notFound();
  return application;
}

/** Reads the live secrets of an application, newest first. */
async function liveOf(queryable: Queryable, { id, tenantId }: Application): Promise<ApplicationSecret[]> {
  return (await secrets.listLive(queryable, tenantId, [id])).get(id) ?? [];
}

/** Ignores an `audience` that equals the base URL, because a client may send back the value that an answer showed. */
function followTenant(
  { tenant }: RequestContext,
  before: Application,
  change: ApplicationChange,
): ApplicationChange {
  if (before.audience !== null || change.audience !== tenant.baseUrl) return change;
  const { audience: _, ...others } = change;
  return others;
}

function notFound(): ServiceError {
  return new ServiceError('not_found', { detail: 'There is no such application, or no such live secret.' });
}

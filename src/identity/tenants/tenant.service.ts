// Creates, reads and changes tenants, and moves them to another address. A used slug is never used for another tenant.
// docs/decisions/0051-short-lived-caches.md

import { operatorContext, succeeded } from '../../audit/audit.ts';
import { describeChanges, findChanges } from '../../audit/changes.ts';
import type { IssuerKeyService } from '../../authentication/issuer/issuer-key.service.ts';
import type { RequestContext, Tenant } from '../../platform/context.ts';
import { createCoalescer } from '../../platform/database/coalescer.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import { createShortLivedCache } from '../../platform/database/short-lived-cache.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import { invalidField, ServiceError } from '../../platform/errors/service-error.ts';
import type { Given } from '../../platform/given.ts';
import { Service } from '../../platform/service.ts';
import type { RecordService } from '../../webhooks/intake/record.service.ts';
import type { TenantChange } from './tenant.store.ts';
import * as store from './tenant.store.ts';
import {
  type AddressMismatch,
  type AddressRules,
  addressOf,
  type FoundTenant,
  findMismatches,
  isSlug,
  orderMoves,
  type TenantRecord,
  toTenant,
} from './tenant.ts';
import { checkRetention, RETENTION_FIELDS, type RetentionBounds } from './tenant-retention.ts';

export type { AddressMismatch, TenantRecord } from './tenant.ts';

/** Milliseconds for which a process caches a tenant's row. Every process therefore applies a change within a second. */
const TENANT_LIFETIME = 1_000;

/**
 * While a row cannot be read, or not soon, its last reading serves. A suspension also ends all tokens, by their feed.
 */
const STALE = { most: 5_000, patience: 250 };

const KEPT = 20_000;

const NO_MANAGING_KEY =
  'With the profile fapi2 applications authenticate with private_key_jwt only: give a key to one with the scope tenant:write first.';

/** The audit log shows the values of these fields. */
const TOLD = [
  'name',
  'audience',
  'signingAlgorithm',
  'securityProfile',
  'subscriptionLimit',
  ...RETENTION_FIELDS,
] as const;

/** Without a name, it is the slug. */
export type NewTenant = Pick<TenantRecord, 'slug'> & TenantPatch;

/** Only the given fields are changed. `audience: null` makes the tenant's address its audience. */
export type TenantPatch = Given<Pick<TenantRecord, (typeof TOLD)[number]>>;

export type TenantNeeds = {
  database: Pick<Database, 'transaction' | 'query'>;
  issuerKeys: Pick<IssuerKeyService, 'createFirstKey' | 'changeAlgorithm'>;
  records: Pick<RecordService, 'write'>;
  /** Settings that determine the address of each tenant. */
  addresses: AddressRules;
  retention: RetentionBounds;
  /** The most subscriptions of a tenant without a number of its own. */
  subscriptionLimit: number;
};

/** Manages tenants and their addresses. */
export class TenantService extends Service<TenantNeeds> {
  readonly #settings = {
    lifetime: TENANT_LIFETIME,
    limit: KEPT,
    keep: (tenant: FoundTenant | undefined) => tenant !== undefined,
  };
  readonly #bySlug = createShortLivedCache({
    ...this.#settings,
    load: readTogether(this.needs.database, 'slug'),
    stale: STALE,
  });
  readonly #byId = createShortLivedCache({
    ...this.#settings,
    load: readTogether(this.needs.database, 'id'),
  });

  /** Returns whether the tenant is suspended, and keeps that so until the transaction ends. */
  isSuspended = store.isSuspended;

  /** The operator's bounds of what a tenant sets for itself. */
  retention = this.needs.retention;

  /** The most subscriptions of a tenant without a number of its own. */
  subscriptionLimit = this.needs.subscriptionLimit;

  /**
   * Creates a tenant with its first issuer key, which signs immediately.
   * @param join the transaction to use; without it the call begins one
   * @throws ServiceError `invalid_request` when the slug is not a DNS label; `conflict` when the slug was ever used
   */
  create = (
    input: NewTenant,
    join: { transaction?: Transaction | undefined } = {},
  ): Promise<TenantRecord> => {
    if (!isSlug(input.slug)) {
      throw invalidField('slug', 'must be a DNS label: 1 to 63 of a-z, 0-9 and -, not - at an end');
    }
    const record = {
      id: newId(),
      slug: input.slug,
      name: input.name ?? input.slug,
      audience: input.audience ?? null,
      signingAlgorithm: input.signingAlgorithm ?? 'ES256',
      securityProfile: input.securityProfile ?? 'none',
      ...addressOf(input.slug, this.needs.addresses),
    };
    return this.needs.database.transaction(join, async (transaction) => {
      const created = await store.insert(transaction, record);
      const context = operatorContext(toTenant(created), newId());
      await this.needs.records.write(transaction, context, {
        audit: [succeeded('tenant.created', { type: 'tenant', id: created.id }, { slug: created.slug })],
      });
      await this.needs.issuerKeys.createFirstKey(transaction, context, created.signingAlgorithm);
      return created;
    });
  };

  /**
   * Returns the tenant with this slug, at most 1 s old, or 5 s while it cannot be read; undefined when it does not
   * exist. `evenOld`: of any age while it cannot be read.
   */
  bySlug = async (slug: string, { evenOld = false } = {}): Promise<Tenant | undefined> => {
    if (!isSlug(slug)) return undefined;
    const record = await (evenOld ? this.#bySlug.getOrOld(slug) : this.#bySlug.get(slug));
    return record === undefined ? undefined : toTenant(record);
  };

  /** The same for a command. @throws ServiceError `not_found` that names the slug */
  requireBySlug = async (slug: string): Promise<Tenant> => {
    const tenant = await this.bySlug(slug);
    if (tenant === undefined) throw unknownTenant(slug);
    return tenant;
  };

  /** Returns the tenant with this id, at most 1 s old; undefined when it does not exist. */
  byId = async (id: string): Promise<Tenant | undefined> => {
    const record = await this.#byId.get(id);
    return record === undefined ? undefined : toTenant(record);
  };

  /**
   * Changes the given fields, if they differ. A new algorithm is used after its key has been public for ten minutes.
   * @throws ServiceError `conflict` for the profile `fapi2` when no application could change the tenant afterwards;
   * `invalid_request` for days outside the operator's bounds
   */
  update = (context: RequestContext, patch: TenantPatch): Promise<TenantRecord> =>
    this.needs.database.transaction(context, async (transaction) => {
      const { id } = context.tenant;
      const before = await store.lock(transaction, { id });
      if (before === undefined) throw new ServiceError('not_found');
      const checked = checkRetention(before, followAddress(before, patch), this.needs.retention);
      const change: TenantChange = findChanges(before, checked);
      if (Object.keys(change).length === 0) return before;
      if (change.securityProfile === 'fapi2' && !(await store.hasManagingKey(transaction, id)))
        throw new ServiceError('conflict', { detail: NO_MANAGING_KEY });
      const updated = (await store.update(transaction, id, change)) ?? before;
      if (change.signingAlgorithm !== undefined)
        await this.needs.issuerKeys.changeAlgorithm(transaction, context, change.signingAlgorithm);
      await this.needs.records.write(transaction, context, {
        audit: [succeeded('tenant.updated', { type: 'tenant', id }, describeChanges(before, change, TOLD))],
      });
      transaction.afterCommit(() => this.#forget(updated));
      return updated;
    });

  /**
   * Marks a tenant as suspended or resumed, in the caller's transaction. Other processes apply it within 1 s.
   * @returns the changed tenant, and whether its state changed
   * @throws ServiceError `not_found`
   */
  setSuspended = async (
    transaction: Transaction,
    slug: string,
    suspended: boolean,
  ): Promise<{ tenant: TenantRecord; changed: boolean }> => {
    const before = await store.lock(transaction, { slug });
    if (before === undefined) throw unknownTenant(slug);
    const { id } = before;
    const changed = await (suspended ? store.suspend : store.resume)(transaction, id);
    transaction.afterCommit(() => this.#forget(before));
    return { tenant: (await store.lock(transaction, { id })) ?? before, changed };
  };

  /** Locks a tenant until the transaction ends. @throws ServiceError `not_found` */
  lock = async (transaction: Transaction, slug: string): Promise<TenantRecord> => {
    const tenant = await store.lock(transaction, { slug });
    if (tenant === undefined) throw unknownTenant(slug);
    return tenant;
  };

  /** Removes the row of a tenant that has no other rows, in the caller's transaction. */
  remove = async (transaction: Transaction, tenant: TenantRecord): Promise<void> => {
    await store.remove(transaction, tenant.id);
    transaction.afterCommit(() => this.#forget(tenant));
  };

  /**
   * Moves every tenant whose stored address differs from the address in the settings.
   * @returns the moved tenants in the order of the moves. A tenant that leaves an address is moved before the tenant
   * that gets it.
   */
  moveAll = async (): Promise<AddressMismatch[]> => {
    const moves = orderMoves(findMismatches(await store.list(this.needs.database), this.needs.addresses));
    for (const { slug } of moves) await this.#moveTo(await this.#findExisting(slug));
    return moves;
  };

  /** Locks a tenant until the transaction ends. @returns undefined when it does not exist */
  lockById = (transaction: Transaction, id: string): Promise<TenantRecord | undefined> =>
    store.lock(transaction, { id });

  /** Returns all tenants, oldest first. */
  list = (): Promise<TenantRecord[]> => store.list(this.needs.database);

  /**
   * Ends the challenges, refresh tokens, sessions, enrollment tokens, assertions and proofs of before now, of all
   * tenants. For a restored database, before anything serves: no process is told. @returns the ids of all tenants
   */
  endEarlier = (transaction: Transaction): Promise<string[]> => store.endEarlier(transaction);

  /** Returns the tenant of the request as it is now. */
  get = async ({ tenant }: RequestContext): Promise<TenantRecord> => this.#findExisting(tenant.slug);

  /**
   * Returns the tenants whose stored address is not that of the settings. The service answers no request for them.
   */
  checkTenantAddresses = async (): Promise<AddressMismatch[]> =>
    findMismatches(await store.list(this.needs.database), this.needs.addresses);

  /**
   * Moves a tenant to its address in the settings. Its earlier tokens become invalid, because their issuer no longer
   * exists.
   * @throws ServiceError `not_found`; `conflict` when another tenant still has that address
   */
  move = async (slug: string): Promise<TenantRecord> => this.#moveTo(await this.#findExisting(slug));

  #forget = ({ id, slug }: { id: string; slug: string }) => {
    this.#bySlug.forget(slug);
    this.#byId.forget(id);
  };

  #findExisting = async (slug: string): Promise<TenantRecord> => {
    const [tenant] = await store.find(this.needs.database, 'slug', [slug]);
    if (tenant === undefined) throw unknownTenant(slug);
    return tenant;
  };

  #moveTo = async (tenant: TenantRecord): Promise<TenantRecord> => {
    const address = addressOf(tenant.slug, this.needs.addresses);
    return this.needs.database.transaction({}, async (transaction) => {
      const moved = (await store.update(transaction, tenant.id, address)) ?? tenant;
      await this.needs.records.write(transaction, operatorContext(toTenant(moved), newId()), {
        audit: [
          succeeded(
            'tenant.moved',
            { type: 'tenant', id: tenant.id },
            { from: tenant.baseUrl, to: address.baseUrl },
          ),
        ],
      });
      transaction.afterCommit(() => this.#forget(tenant));
      return moved;
    });
  };
}

/** Makes a function that reads a tenant by one statement with the others that are asked for meanwhile. */
function readTogether(database: TenantNeeds['database'], by: 'slug' | 'id') {
  const { add } = createCoalescer({
    run: (names: readonly string[]) => store.find(database, by, names),
    limits: { batches: 1 },
  });
  return add;
}

/** Ignores an `audience` that equals the address, because a client may send back the value that an answer showed. */
function followAddress(before: TenantRecord, patch: TenantPatch): TenantPatch {
  if (before.audience !== null || patch.audience !== before.baseUrl) return patch;
  return { ...patch, audience: undefined };
}

function unknownTenant(slug: string): ServiceError {
  return new ServiceError('not_found', { detail: `There is no tenant "${slug}".` });
}

// Tenants: made, found by slug, changed, moved to another address. A slug, once used, must never name another tenant.

import { operatorContext } from '../../audit/audit.ts';
import { describeChanges, findChanges } from '../../audit/changes.ts';
import type { IssuerKeyService } from '../../authentication/issuer/issuer-key.service.ts';
import type { RecordService } from '../../events/record.service.ts';
import type { RequestContext, SigningAlgorithm, Tenant } from '../../platform/context.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import { createShortLivedCache } from '../../platform/database/short-lived-cache.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import { invalidField, ServiceError } from '../../platform/errors/service-error.ts';
import type { TenantChange } from './tenant.store.ts';
import * as store from './tenant.store.ts';
import {
  type AddressMismatch,
  type AddressRules,
  addressOf,
  findMismatches,
  isSlug,
  orderMoves,
  type TenantRecord,
  toTenant,
} from './tenant.ts';

export type { AddressMismatch, TenantRecord } from './tenant.ts';

/** Milliseconds for which a tenant's row serves requests before it is read again: a change counts in every process within a second. */
const TENANT_LIFETIME = 1_000;

/** Tenants kept in the process, by slug and by id. */
const KEPT = 20_000;

/** Fields whose values the audit log tells. */
const TOLD = ['name', 'audience', 'signingAlgorithm'];

export type NewTenant = {
  readonly slug: string;
  /** The slug, unless said. */
  readonly name?: string | undefined;
  readonly audience?: string | undefined;
  readonly signingAlgorithm?: SigningAlgorithm | undefined;
};

/** Fields that are there are changed; `audience: null` makes it follow the tenant's address. */
export type TenantPatch = {
  readonly name?: string | undefined;
  readonly audience?: string | null | undefined;
  readonly signingAlgorithm?: SigningAlgorithm | undefined;
};

/** Tenants and their addresses. @param addresses settings from which canonical addresses are made */
export function createTenantService({
  database,
  issuerKeys,
  records,
  addresses,
}: {
  database: Pick<Database, 'transaction' | 'model'>;
  issuerKeys: Pick<IssuerKeyService, 'createFirstKey' | 'changeAlgorithm'>;
  records: Pick<RecordService, 'write'>;
  addresses: AddressRules;
}) {
  const bySlug = createShortLivedCache({
    load: (slug) => store.find(database, { slug }),
    lifetime: TENANT_LIFETIME,
    limit: KEPT,
    keep: (tenant) => tenant !== undefined,
  });
  const byId = createShortLivedCache({
    load: (id) => store.find(database, { id }),
    lifetime: TENANT_LIFETIME,
    limit: KEPT,
    keep: (tenant) => tenant !== undefined,
  });
  const forget = ({ id, slug }: { id: string; slug: string }) => {
    bySlug.forget(slug);
    byId.forget(id);
  };

  async function findExisting(slug: string): Promise<TenantRecord> {
    const tenant = await store.find(database, { slug });
    if (tenant === undefined) throw unknownTenant(slug);
    return tenant;
  }

  async function moveTo(tenant: TenantRecord): Promise<TenantRecord> {
    const address = addressOf(tenant.slug, addresses);
    return database.transaction({}, async (transaction) => {
      const moved = (await store.update(transaction, tenant.id, address)) ?? tenant;
      await records.write(transaction, operatorContext(toTenant(moved), newId()), {
        audit: [
          {
            action: 'tenant.moved',
            outcome: 'success',
            target: { type: 'tenant', id: tenant.id },
            data: { from: tenant.baseUrl, to: address.baseUrl },
          },
        ],
      });
      transaction.afterCommit(() => forget(tenant));
      return moved;
    });
  }

  return {
    /**
     * Creates a tenant with its first issuer key, which signs at once.
     * @param join a transaction that it becomes part of
     * @throws ServiceError `invalid_request` when the slug is no DNS label, `conflict` when it was ever used
     */
    create: (
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
        ...addressOf(input.slug, addresses),
      };
      return database.transaction(join, async (transaction) => {
        const created = await store.insert(transaction, record);
        const context = operatorContext(toTenant(created), newId());
        await records.write(transaction, context, {
          audit: [
            {
              action: 'tenant.created',
              outcome: 'success',
              target: { type: 'tenant', id: created.id },
              data: { slug: created.slug },
            },
          ],
        });
        await issuerKeys.createFirstKey(transaction, context, created.signingAlgorithm);
        return created;
      });
    },

    /** All tenants, the oldest first. */
    list: (): Promise<TenantRecord[]> => store.list(database),

    /** The tenant of this slug, at most 1 s old; undefined when there is none. */
    bySlug: async (slug: string): Promise<Tenant | undefined> => {
      if (!isSlug(slug)) return undefined;
      const record = await bySlug.get(slug);
      return record === undefined ? undefined : toTenant(record);
    },

    /** The tenant of this id, at most 1 s old; undefined when there is none. */
    byId: async (id: string): Promise<Tenant | undefined> => {
      const record = await byId.get(id);
      return record === undefined ? undefined : toTenant(record);
    },

    /** The request's own tenant as it is stored now. */
    get: async ({ tenant }: RequestContext): Promise<TenantRecord> => findExisting(tenant.slug),

    /**
     * Changes the request's own tenant; where no field differs, nothing happens. A new signing algorithm takes effect after its key has
     * been published for a while.
     */
    update: (context: RequestContext, patch: TenantPatch): Promise<TenantRecord> =>
      database.transaction(context, async (transaction) => {
        const { id } = context.tenant;
        const before = await store.lock(transaction, { id });
        if (before === undefined) throw new ServiceError('not_found');
        const change: TenantChange = findChanges(before, followAddress(before, patch));
        if (Object.keys(change).length === 0) return before;
        const updated = (await store.update(transaction, id, change)) ?? before;
        if (change.signingAlgorithm !== undefined)
          await issuerKeys.changeAlgorithm(transaction, context, change.signingAlgorithm);
        await records.write(transaction, context, {
          audit: [
            {
              action: 'tenant.updated',
              outcome: 'success',
              target: { type: 'tenant', id },
              data: describeChanges(before, change, TOLD),
            },
          ],
        });
        transaction.afterCommit(() => forget(updated));
        return updated;
      }),

    /**
     * Notes with the caller's transaction that a tenant is suspended, or that it is not any more. Other processes serve it by what they
     * have read at most 1 s ago.
     * @returns the tenant afterwards, and whether anything changed @throws ServiceError `not_found`
     */
    setSuspended: async (
      transaction: Transaction,
      slug: string,
      suspended: boolean,
    ): Promise<{ tenant: TenantRecord; changed: boolean }> => {
      const before = await store.lock(transaction, { slug });
      if (before === undefined) throw unknownTenant(slug);
      const { id } = before;
      const changed = await store.setSuspended(transaction, id, suspended);
      transaction.afterCommit(() => forget(before));
      return { tenant: (await store.lock(transaction, { id })) ?? before, changed };
    },

    /** The tenants whose stored address is not the one that the settings give: none may be served until they are moved. */
    checkTenantAddresses: async (): Promise<AddressMismatch[]> =>
      findMismatches(await store.list(database), addresses),

    /**
     * Moves a tenant to the address that the settings give it; its earlier tokens end with that, since their issuer is gone.
     * @throws ServiceError `not_found`; `conflict` when another tenant still has that address
     */
    move: async (slug: string): Promise<TenantRecord> => moveTo(await findExisting(slug)),

    /**
     * Moves every tenant whose address is not the one that the settings give it.
     * @returns those that were moved, in that order: one whose present address another needs goes first
     */
    moveAll: async (): Promise<AddressMismatch[]> => {
      const moves = orderMoves(findMismatches(await store.list(database), addresses));
      for (const { slug } of moves) await moveTo(await findExisting(slug));
      return moves;
    },
  };
}

export type TenantService = ReturnType<typeof createTenantService>;

/** A tenant whose audience is its address keeps following it when it is sent back as it was read. */
function followAddress(before: TenantRecord, patch: TenantPatch): TenantPatch {
  if (before.audience !== null || patch.audience !== before.baseUrl) return patch;
  return { ...patch, audience: undefined };
}

function unknownTenant(slug: string): ServiceError {
  return new ServiceError('not_found', { detail: `There is no tenant "${slug}".` });
}

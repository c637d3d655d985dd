// Tenants: created, found by slug, changed, moved to another address. A used slug never names another tenant.

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

/**
 * Milliseconds for which a process uses a tenant's row before it reads it again: a change reaches every process within
 * a second.
 */
const TENANT_LIFETIME = 1_000;

/** Most tenants in the cache of the process, by slug and by id. */
const KEPT = 20_000;

/** Fields whose values the audit log shows. */
const TOLD = ['name', 'audience', 'signingAlgorithm'];

export type NewTenant = {
  readonly slug: string;
  /** Default: the slug. */
  readonly name?: string | undefined;
  readonly audience?: string | undefined;
  readonly signingAlgorithm?: SigningAlgorithm | undefined;
};

/** Only the given fields are changed; `audience: null` makes the tenant's address its audience. */
export type TenantPatch = {
  readonly name?: string | undefined;
  readonly audience?: string | null | undefined;
  readonly signingAlgorithm?: SigningAlgorithm | undefined;
};

/** Tenants and their addresses. @param addresses settings that determine the address of each tenant */
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
     * Creates a tenant with its first issuer key, which signs immediately.
     * @param join a transaction to use; by default the call begins one
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

    /** The current row of the request's own tenant. */
    get: async ({ tenant }: RequestContext): Promise<TenantRecord> => findExisting(tenant.slug),

    /**
     * Changes the request's own tenant; without a difference it does nothing. A new signing algorithm takes effect only
     * after its issuer key has been published for a while.
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
     * Marks a tenant as suspended or resumed, in the caller's transaction. Other processes notice it within 1 s.
     * @returns the changed tenant, and whether anything changed
     * @throws ServiceError `not_found`
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

    /**
     * The tenants whose stored address differs from that of the settings. The service serves none of them before they
     * are moved.
     */
    checkTenantAddresses: async (): Promise<AddressMismatch[]> =>
      findMismatches(await store.list(database), addresses),

    /**
     * Moves a tenant to its address in the settings. Its earlier tokens end, since their issuer no longer exists.
     * @throws ServiceError `not_found`; `conflict` when another tenant still has that address
     */
    move: async (slug: string): Promise<TenantRecord> => moveTo(await findExisting(slug)),

    /**
     * Moves every tenant whose stored address differs from that of the settings.
     * @returns the moved tenants in the order of the moves: a tenant whose old address another one needs is moved first
     */
    moveAll: async (): Promise<AddressMismatch[]> => {
      const moves = orderMoves(findMismatches(await store.list(database), addresses));
      for (const { slug } of moves) await moveTo(await findExisting(slug));
      return moves;
    },
  };
}

export type TenantService = ReturnType<typeof createTenantService>;

/** A client that sends a tenant back as it was read does not fix its address as the audience. */
function followAddress(before: TenantRecord, patch: TenantPatch): TenantPatch {
  if (before.audience !== null || patch.audience !== before.baseUrl) return patch;
  return { ...patch, audience: undefined };
}

function unknownTenant(slug: string): ServiceError {
  return new ServiceError('not_found', { detail: `There is no tenant "${slug}".` });
}

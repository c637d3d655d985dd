// Removes what a tenant keeps for a shorter time than the partitions stay: row by row, a tenant after the other.
// docs/operations/retention.md
import { NIL } from 'uuid';
import type * as addressStore from '../../audit/address-removal.store.ts';
import type * as retentionStore from '../../identity/tenants/tenant-retention.store.ts';
import { daysOf, type RetentionBounds } from '../../identity/tenants/tenant-retention.ts';
import type { Database } from '../../platform/database/database.ts';
import { KEPT_DAYS } from '../../platform/database/kept-days.ts';
import type * as accountStore from '../../webhooks/accounts/account.store.ts';
import type { purgeAttempts } from '../../webhooks/deliveries/delivery-expiry.store.ts';
import type * as eventStore from '../../webhooks/intake/event-removal.store.ts';
import { timeOf } from '../../webhooks/intake/feed-cursor.ts';
import type { removeCompleted } from '../../webhooks/receipts/receipt.store.ts';
import type * as deliveryStore from '../../webhooks/rows/removal.store.ts';

export type TenantRetentionNeeds = {
  database: Pick<Database, 'query' | 'transaction'>;
  bounds: RetentionBounds;
  tenants: typeof retentionStore;
  deliveries: typeof deliveryStore;
  events: typeof eventStore;
  accounts: Pick<typeof accountStore, 'noteGone'>;
  addresses: typeof addressStore;
  purgeAttempts: typeof purgeAttempts;
  removeReceipts: typeof removeCompleted;
};

/** How many rows a piece has removed, and the place after which a later call goes on: the last tenant that is done. */
export type Piece = { readonly removed: number; readonly place?: string | undefined };

/** Pieces of at most `limit` rows. @param place of the last piece of an earlier call */
export type Pieces = (limit: number, place?: string) => AsyncIterable<Piece>;

type Part = { readonly tenantId: string; readonly days: number; readonly limit: number };

/** @returns the removals by the name that an operator sees */
export function createTenantRetention(needs: TenantRetentionNeeds): Readonly<Record<string, Pieces>> {
  return {
    'deliveries of tenants': (limit, place) => removeDeliveries(needs, limit, place),
    'events of tenants': (limit, place) => removeEvents(needs, limit, place),
    'addresses in the audit log': (limit, place) => removeAddresses(needs, limit, place),
  };
}

/** A piece is what one statement reads, so that deliveries under way are read once a run, however many there are. */
async function* removeDeliveries(
  needs: TenantRetentionNeeds,
  limit: number,
  begin: string | undefined,
): AsyncGenerator<Piece> {
  let place = begin;
  for (const tenant of await shorter(needs, 'deliveriesDays', begin)) {
    for (let after: string | undefined = NIL; after !== undefined; ) {
      const { tenantId, days } = tenant;
      const rows = await needs.deliveries.pageOfOld(needs.database, tenantId, days, after, limit);
      const due = rows.flatMap(({ id, due }) => (due ? [id] : []));
      const removed = due.length === 0 ? 0 : await removePage(needs, { ...tenant, limit }, due);
      after = rows.length < limit ? undefined : rows.at(-1)?.id;
      if (after === undefined) place = tenant.tenantId;
      yield { removed, place };
    }
  }
}

function removePage({ database, ...needs }: TenantRetentionNeeds, { tenantId }: Part, due: string[]) {
  return database.transaction({}, async (unit) => {
    const gone = await needs.deliveries.removeEnded(unit, due);
    if (gone.length === 0) return 0;
    const ids = gone.map(({ id }) => id);
    await needs.purgeAttempts(unit, ids);
    await needs.removeReceipts(unit, [...new Set(gone.map(({ eventRow }) => eventRow))]);
    const numbers = gone.map(({ id, status }) => ({ day: dayOf(id), [status]: 1 }));
    await needs.accounts.noteGone(unit, tenantId, numbers);
    return gone.length;
  });
}

/** The feed refuses cursors from before the events that are left, before the first of them goes. */
async function* removeEvents(
  needs: TenantRetentionNeeds,
  limit: number,
  begin: string | undefined,
): AsyncGenerator<Piece> {
  const { database, tenants, events, accounts } = needs;
  let place = begin;
  for (const tenant of await shorter(needs, 'eventsDays', begin)) {
    await tenants.noteEventsGone(database, tenant.tenantId, tenant.days);
    for (let after: string | undefined = ''; after !== undefined; ) {
      const rows = await events.pageOfOld(database, tenant.tenantId, tenant.days, after, limit);
      const due = rows.flatMap(({ id, due }) => (due ? [id] : []));
      if (due.length > 0)
        await database.transaction({}, async (unit) => {
          const gone = await events.remove(unit, due);
          const numbers = gone.map(({ id, deliveries }) => ({ day: dayOf(id), accepted: deliveries }));
          await accounts.noteGone(unit, tenant.tenantId, numbers);
        });
      after = rows.length < limit ? undefined : rows.at(-1)?.eventId;
      if (after === undefined) place = tenant.tenantId;
      yield { removed: due.length, place };
    }
  }
}

async function* removeAddresses(
  { database, tenants, addresses, bounds }: TenantRetentionNeeds,
  limit: number,
  begin: string | undefined,
): AsyncGenerator<Piece> {
  const all = bounds.auditAddressesDays.most !== null;
  let place = begin;
  for (const tenant of await listAfter(begin, tenants.list.auditAddressesDays(database, all))) {
    const days = daysOf(tenant, bounds).auditAddressesDays;
    for (
      let after: string | undefined = tenant.addressesGone ?? NIL;
      days !== null && after !== undefined;
    ) {
      const part = [tenant.id, after, days, limit] as const;
      const { looked, removed, latest } = await database.transaction({}, async (unit) => {
        const piece = await addresses.removeAddresses(unit, ...part);
        if (piece.latest !== null) await tenants.noteAddressesGone(unit, tenant.id, piece.latest);
        return piece;
      });
      after = looked < limit ? undefined : (latest ?? undefined);
      if (after === undefined) place = tenant.id;
      yield { removed, place };
    }
  }
}

/** Lists the tenants whose rows go before their partitions. */
async function shorter(
  { database, tenants, bounds }: TenantRetentionNeeds,
  field: 'deliveriesDays' | 'eventsDays',
  begin: string | undefined,
): Promise<{ tenantId: string; days: number }[]> {
  const found = await listAfter(begin, tenants.list[field](database, bounds[field].most < KEPT_DAYS));
  return found
    .map((tenant) => ({ tenantId: tenant.id, days: daysOf(tenant, bounds)[field] }))
    .filter(({ days }) => days < KEPT_DAYS);
}

/** @param place id of a tenant @param tenants in the order of their ids */
async function listAfter<Tenant extends { readonly id: string }>(
  place: string | undefined,
  tenants: Promise<readonly Tenant[]>,
): Promise<readonly Tenant[]> {
  const all = await tenants;
  return place === undefined ? all : all.filter(({ id }) => id > place);
}

/** @param id whose first 48 bits are its time @returns its UTC day */
const dayOf = (id: string) => new Date(timeOf(id)).toISOString().slice(0, 10);

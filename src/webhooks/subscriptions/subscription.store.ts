// SQL of subscriptions. Every statement of a route is bound to one tenant. Deleted subscriptions are never returned,
// and streams, which have routes of their own, only where a function says so.
// docs/decisions/0039-subscription-filters.md
import { filterCandidates } from '../../events/filter.ts';
import { asked, type Models, NOW } from '../../platform/database/model.ts';
import type { Page, PageRequest } from '../../platform/database/page.ts';
import { loadSequelize } from '../../platform/database/sequelize.ts';
import { changed, one, value } from '../../platform/database/statements.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { SHOWN_STATE, severityOf } from '../endpoints/shown-state.ts';
import { type NewSubscriptionRow, SUBSCRIPTION, type SubscriptionRow } from './subscription.model.ts';

export type SubscriptionChanges = Partial<
  Omit<NewSubscriptionRow, 'id' | 'tenantId' | 'createdAt' | 'updatedAt' | 'deletedAt'>
>;

/** The conditions of a list. `eventType` is one that the subscription gets. */
export type SubscriptionFilters = {
  readonly url?: string | undefined;
  readonly active?: boolean | undefined;
  readonly eventType?: string | undefined;
  readonly ids?: readonly string[] | undefined;
  readonly state?: string | undefined;
  readonly severity?: string | undefined;
};

const IS_ACTIVE =
  'EXISTS (SELECT 1 FROM endpoints p WHERE p.subscription_id = subscriptions.id AND p.active)';

const STATE = `(SELECT ${SHOWN_STATE} FROM endpoints p WHERE p.subscription_id = subscriptions.id)`;
const SEVERITY = `(SELECT ${severityOf('shown', 'subscriptions.disabled_reason')}
  FROM endpoints p, LATERAL (SELECT ${SHOWN_STATE} AS shown) AS s WHERE p.subscription_id = subscriptions.id)`;

export function insert(transaction: Transaction, row: NewSubscriptionRow): Promise<SubscriptionRow> {
  return transaction.model(SUBSCRIPTION).insert(row);
}

const lockCount = changed<[tenantId: string]>(
  "SELECT pg_advisory_xact_lock(hashtextextended('subscriptions of ' || $1, 0))",
);

const count = value<number, [tenantId: string]>(
  'SELECT count(*)::int FROM subscriptions WHERE tenant_id = $1 AND deleted_at IS NULL',
);

/** Counts a tenant's subscriptions, streams among them. No other transaction adds one until this one has ended. */
export async function countLocked(unit: Queryable, tenantId: string): Promise<number> {
  await lockCount(unit, tenantId);
  return count(unit, tenantId);
}

/** @returns whether the tenant has this subscription and it is not deleted. One indexed read. */
export const exists = changed<[tenantId: string, id: string]>(
  'SELECT 1 FROM subscriptions WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL AND stream_audience IS NULL',
);

export function find(models: Models, tenantId: string, id: string): Promise<SubscriptionRow | undefined> {
  return models.model(SUBSCRIPTION).find({ id, tenantId, deletedAt: null, streamAudience: null });
}

/** Reads a subscription and locks its row until the transaction ends. */
export function lock(
  transaction: Transaction,
  tenantId: string,
  id: string,
): Promise<SubscriptionRow | undefined> {
  return transaction
    .model(SUBSCRIPTION)
    .lock({ id, tenantId, deletedAt: null, streamAudience: null }, 'NO KEY UPDATE');
}

/** Like `lock`, but a stream too. */
export function lockAny(
  transaction: Transaction,
  tenantId: string,
  id: string,
): Promise<SubscriptionRow | undefined> {
  return transaction.model(SUBSCRIPTION).lock({ id, tenantId, deletedAt: null }, 'NO KEY UPDATE');
}

/**
 * Lists a page, the newest first. The index by tenant serves all filters, because a tenant has few subscriptions.
 */
export function list(
  models: Models,
  tenantId: string,
  { url, active, eventType, ids, state, severity, ...request }: PageRequest & SubscriptionFilters,
): Promise<Page<SubscriptionRow>> {
  const { col, literal, Op, where } = loadSequelize();
  const filters = [
    ...(active === undefined ? [] : [literal(`${active ? '' : 'NOT '}${IS_ACTIVE}`)]),
    ...(state === undefined ? [] : [where(literal(STATE), state)]),
    ...(severity === undefined ? [] : [where(literal(SEVERITY), severity)]),
    ...(eventType === undefined ? [] : [where(col('filters'), Op.overlap, filterCandidates(eventType))]),
  ];
  const conditions = {
    tenantId,
    deletedAt: null,
    streamAudience: null,
    ...asked({ url }),
    ...(ids && { id: { [Op.in]: [...ids] } }),
  };
  return models.model(SUBSCRIPTION).page({ ...conditions, [Op.and]: filters }, request);
}

/** Changes a row that the transaction has locked. */
export function update(
  transaction: Transaction,
  id: string,
  changes: SubscriptionChanges,
): Promise<SubscriptionRow> {
  return transaction.model(SUBSCRIPTION).change(id, { ...changes, updatedAt: NOW });
}

/** Marks a row that the transaction has locked as deleted. */
export function markDeleted(transaction: Transaction, id: string): Promise<SubscriptionRow> {
  return transaction.model(SUBSCRIPTION).change(id, { deletedAt: NOW, updatedAt: NOW });
}

/**
 * Stores why the service deactivated a subscription or a stream.
 * @returns undefined when it is already inactive or deleted
 */
export const disable = one<
  Pick<SubscriptionRow, 'host' | 'eventTypes' | 'streamAudience'>,
  [tenantId: string, id: string, reason: string]
>(`
UPDATE subscriptions SET disabled_reason = $3, updated_at = now()
WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL
  AND ${IS_ACTIVE}
RETURNING host, event_types, stream_audience`);

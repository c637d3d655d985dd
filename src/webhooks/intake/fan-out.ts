// SQL of the fan-out of events, common to all statements that insert events: which subscriptions get them, and the rows
// of events, deliveries and outbox.
// docs/decisions/0039-subscription-filters.md
import { ACCESS_TYPES } from '../../events/event.ts';
import { isAmong } from '../../platform/columns.ts';
import { insertDeliveries } from '../rows/delivery-row.ts';
import { enqueue } from '../rows/outbox.ts';

/**
 * The expressions `heard` and `matched`, after an expression `input` with the columns of events: each event with the
 * subscriptions that get it, and a row for each of these. An event reads no other filters than those that match its
 * type. The search by id does not say `deleted_at IS NULL`, because the planner could then choose an index of all live
 * subscriptions for it.
 */
export const MATCHED = `
heard AS (
  SELECT i.*, ARRAY(
    SELECT DISTINCT f.subscription_id FROM subscription_filters f
    WHERE i.only_subscription IS NULL AND f.tenant_id = i.tenant_id AND f.filter = ANY (i.candidates)
      AND f.subscription_id IS DISTINCT FROM i.except_subscription
      AND (NOT f.is_stream OR stream_takes(f.subscription_id, i.body))
    UNION ALL
    SELECT id FROM subscriptions
    WHERE id = i.only_subscription AND tenant_id = i.tenant_id AND coalesce(deleted_at, 'infinity') = 'infinity'
  ) AS subscriptions
  FROM input i
), matched AS (
  SELECT h.id, h.tenant_id, h.event_id, h.type, h.test, h.trace, s.id AS subscription_id, delivery_id_of(h.id, s.id) AS delivery_id
  FROM heard h CROSS JOIN unnest(h.subscriptions) AS s (id)
)`;

/** Inserts the rows of the outbox for new deliveries. @param claim the process that claims a row, and its epoch */
export const enqueueFirst = (from: string, claim?: string) =>
  `${enqueue({ id: 'id', generation: '0', kind: `'first'`, from, ...(claim === undefined ? {} : { claim }) })}
  ON CONFLICT DO NOTHING`;

/**
 * The inserts, after `heard` and `matched`. An event is inserted with all of its deliveries, or not at all. A
 * repetition with the same ids conflicts with the first insert and changes nothing. `deliveries` keeps the number,
 * which the accounts later compare with the rows.
 * @param kept which events of `heard` are inserted
 * @param newWork inserts the rows of the outbox
 */
export const insertWork = (kept: string, newWork = `new_work AS (${enqueueFirst('new_deliveries')})`) => `
new_events AS (
  INSERT INTO events (id, tenant_id, event_id, type, occurred_at, body, test, deliveries)
  SELECT id, tenant_id, event_id, type, occurred_at, convert_to(body, 'UTF8'), test, cardinality(subscriptions) FROM heard
  WHERE ${kept}
  ON CONFLICT DO NOTHING
  RETURNING id
), new_deliveries AS (
  ${insertDeliveries(`matched WHERE ${isAmong('id', 'new_events')}`)}
), ${newWork}`;

/** Which events of the service are kept: those that somebody gets, and those that end access. */
const EMITTED = `cardinality(subscriptions) > 0 OR (NOT test AND type = ANY ('{${ACCESS_TYPES.join()}}'))`;

/** The fan-out of events of the service, from `input` to the last insert. */
export const EMIT_INPUT = `${MATCHED}, accepted AS (
  SELECT id, cardinality(subscriptions) AS deliveries,
    CASE WHEN only_subscription IS NOT NULL THEN delivery_id_of(id, subscriptions[1])::text END AS delivery_id FROM heard
), ${insertWork(EMITTED)}`;

/**
 * SQL: whether a subscription of the tenant has one of the filters. With OFFSET 0 it stays a lookup for each tenant;
 * without it the planner may read the filters of all tenants. @param tenantId, filters SQL expressions
 */
export const isHeard = (tenantId: string, filters: string) =>
  `EXISTS (SELECT 1 FROM subscription_filters f WHERE f.tenant_id = ${tenantId} AND f.filter = ANY (${filters}) OFFSET 0)`;

// SQL of the fan-out of events, common to all statements that insert events: which subscriptions get them, and the rows
// of events, deliveries and outbox.
// docs/decisions/0039-subscription-filters.md
import { ACCESS_TYPES } from '../../events/event.ts';
import { insertDeliveries } from '../rows/delivery-row.ts';
import { enqueue } from '../rows/outbox.ts';

/**
 * The expressions `matched` and `counted`, after an expression `input` with the columns of events. An event reads no
 * other filters than those that match its type. The search by id does not say `deleted_at IS NULL`, because the planner
 * could then choose an index of all live subscriptions for it.
 */
export const MATCHED = `
matched AS (
  SELECT i.id, s.id AS subscription_id, delivery_id_of(i.id, s.id) AS delivery_id
  FROM input i CROSS JOIN LATERAL (
    SELECT DISTINCT f.subscription_id AS id FROM subscription_filters f
    WHERE i.only_subscription IS NULL AND f.tenant_id = i.tenant_id AND f.filter = ANY (i.candidates)
      AND f.subscription_id IS DISTINCT FROM i.except_subscription
      AND (NOT f.is_stream OR stream_takes(f.subscription_id, i.body))
    UNION ALL
    SELECT id FROM subscriptions
    WHERE id = i.only_subscription AND tenant_id = i.tenant_id AND coalesce(deleted_at, 'infinity') = 'infinity'
  ) s
), counted AS (
  SELECT i.id, count(m.id)::int AS deliveries,
    CASE WHEN i.only_subscription IS NOT NULL THEN min(m.delivery_id::text) END AS delivery_id
  FROM input i LEFT JOIN matched m ON m.id = i.id
  GROUP BY i.id, i.only_subscription
)`;

/** Inserts the rows of the outbox for new deliveries. @param claim the process that claims a row, and its epoch */
export const enqueueFirst = (from: string, claim?: string) =>
  `${enqueue({ id: 'id', generation: '0', kind: `'first'`, from, ...(claim === undefined ? {} : { claim }) })}
  ON CONFLICT DO NOTHING`;

/**
 * The inserts, after `matched` and an expression `accepted`. An event is inserted with all of its deliveries, or not at
 * all. A repetition with the same ids conflicts with the first insert and changes nothing. `deliveries` keeps the
 * number, which the accounts later compare with the rows.
 * @param kept which events of `input` i, `accepted` a are inserted
 * @param newWork inserts the rows of the outbox
 */
export const insertWork = (kept: string, newWork = `new_work AS (${enqueueFirst('new_deliveries')})`) => `
new_events AS (
  INSERT INTO events (id, tenant_id, event_id, type, occurred_at, body, test, deliveries)
  SELECT i.id, i.tenant_id, i.event_id, i.type, i.occurred_at, convert_to(i.body, 'UTF8'), i.test, a.deliveries
  FROM input i JOIN accepted a ON a.id = i.id WHERE ${kept}
  ON CONFLICT DO NOTHING
  RETURNING id
), new_deliveries AS (
  ${insertDeliveries('matched m JOIN new_events n ON n.id = m.id JOIN input i ON i.id = m.id')}
), ${newWork}`;

/** Which events of the service are kept: those that somebody gets, and those that end access. */
const EMITTED = `a.deliveries > 0 OR (NOT i.test AND i.type = ANY ('{${ACCESS_TYPES.join()}}'))`;

/** The fan-out of events of the service, from `input` to the last insert. */
export const EMIT_INPUT = `${MATCHED}, accepted AS (
  SELECT id, deliveries, delivery_id FROM counted
), ${insertWork(EMITTED)}`;

/**
 * SQL: whether a subscription of the tenant has one of the filters. With OFFSET 0 it stays a lookup for each tenant;
 * without it the planner may read the filters of all tenants. @param tenantId, filters SQL expressions
 */
export const isHeard = (tenantId: string, filters: string) =>
  `EXISTS (SELECT 1 FROM subscription_filters f WHERE f.tenant_id = ${tenantId} AND f.filter = ANY (${filters}) OFFSET 0)`;

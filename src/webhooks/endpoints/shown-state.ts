// SQL of the state and the severity that the interface shows of the endpoint `p`. endpoint-state.ts has the same states
// for one row that was read; test/webhooks/standing compares the two. Pure.

const IS_PENDING = `EXISTS (SELECT 1 FROM deliveries d WHERE d.subscription_id = p.subscription_id AND d.status IN ('pending', 'retrying'))`;

/** The state of an endpoint that is not deleted (docs/glossary.md). */
export const SHOWN_STATE = `
CASE WHEN NOT p.active THEN 'inactive' WHEN p.tenant_held_until > now() THEN 'suspended'
  WHEN NOT endpoint_is_open(p) THEN
    CASE WHEN p.state = 'down' AND coalesce(greatest(p.hold_until, p.host_held_until) <= now(), true) THEN 'down' ELSE 'held' END
  WHEN p.state = 'down' THEN 'probing'
  WHEN p.permits IS NOT NULL AND ${IS_PENDING} THEN 'releasing'
  WHEN p.failing_since IS NULL THEN 'open' ELSE 'failing' END`;

/** Whether deliveries that have failed for good are many: three at least, and more than 1 in 20 of those that ended. */
export const areMany = (failed: string, delivered: string) =>
  `(${failed} >= 3 AND ${failed} * 20 > ${failed} + ${delivered})`;

/** What the hours have counted of 24 hours, of the endpoint or the delivery `of`: at most 24 rows. */
export const ofHours = (answer: string, of: string, which = '') => `(SELECT ${answer} FROM delivery_hours h
  WHERE h.tenant_id = ${of}.tenant_id AND h.subscription_id = ${of}.subscription_id AND h.hour > now() - interval '24 hours'${which})`;

// Most endpoints have no failures, which an index of few rows says.
const HAS_MANY = `EXISTS ${ofHours('', 'p', ' AND h.failed > 0')} AND ${ofHours(areMany('sum(h.failed)', 'sum(h.delivered)'), 'p')}`;

/**
 * How urgent a state is (docs/glossary.md). A deactivation by a person matters while deliveries wait, one by the
 * service always; failures matter from the third delivery in a row on, or when they are many.
 * @param state has the state @param disabled has `subscriptions.disabled_reason`
 */
export const severityOf = (state: string, disabled: string) => `
CASE WHEN ${state} IN ('down', 'probing') THEN 'critical' WHEN ${state} IN ('held', 'suspended') THEN 'warning'
  WHEN ${state} = 'inactive' THEN CASE WHEN ${disabled} IS NOT NULL THEN 'warning' WHEN ${IS_PENDING} THEN 'notice' ELSE 'none' END
  WHEN cardinality(p.failing_deliveries) >= 3 AND ${state} = 'failing' OR ${HAS_MANY} THEN 'warning'
  WHEN ${state} = 'failing' THEN 'notice' ELSE 'none' END`;

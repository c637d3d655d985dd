// SQL that says which tenants have a statement of their own for their events.

/** Subscriptions from which on the events of a tenant share no statement with those of others. */
const MANY = 20;

/**
 * SQL: whether a tenant has so many subscriptions, streams and inactive ones among them, that one of its events may
 * cost a statement much. It reads as many at most. @param tenantId SQL expression
 */
export const fansOut = (tenantId: string) =>
  `(SELECT count(*) = ${MANY} FROM (SELECT FROM subscriptions s WHERE s.tenant_id = ${tenantId} AND s.deleted_at IS NULL LIMIT ${MANY}) AS first)`;

// SQL that counts what an endpoint has failed with, by the outcome of each delivery's latest attempt.
import { many } from '../../platform/database/statements.ts';
import { ofEndpoint } from './endpoint.store.ts';

/**
 * Deliveries of an endpoint whose latest attempt failed with one code, such as `http:503`. `waiting`: those that have
 * not ended. `failed`: those that have failed for good.
 */
export type EndpointFailures = {
  readonly error: string;
  readonly statusCode: number | null;
  readonly waiting: number;
  readonly failed: number;
};

/** The most deliveries that are read of each kind, and the most codes that are told. */
const MOST_READ = 1_000;
const MOST_CODES = 20;

/** Lists the codes that deliveries of an endpoint have failed with lately, those of most deliveries first. */
export const listFailures = ofEndpoint(
  // The oldest of those that wait are the tried ones. Those that have failed were created in the last 24 hours.
  many<EndpointFailures, [subscriptionId: string, tenantId: string]>(`
WITH tried AS (
  (SELECT last_error, last_status_code, false AS failed FROM deliveries
  WHERE subscription_id = $1 AND status IN ('pending', 'retrying') ORDER BY id LIMIT ${MOST_READ})
  UNION ALL
  (SELECT last_error, last_status_code, true FROM deliveries
  WHERE tenant_id = $2 AND subscription_id = $1 AND status = 'failed' AND id >= uuid_of_time(now() - interval '1 day')
  ORDER BY id DESC LIMIT ${MOST_READ})
)
SELECT last_error AS error, last_status_code AS status_code,
  (count(*) FILTER (WHERE NOT failed))::int AS waiting, (count(*) FILTER (WHERE failed))::int AS failed
FROM tried WHERE last_error IS NOT NULL GROUP BY 1, 2 ORDER BY count(*) DESC, 1 LIMIT ${MOST_CODES}`),
);

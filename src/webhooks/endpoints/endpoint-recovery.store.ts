// SQL of the workflow endpointRecovery: one read for all its decisions, and the changes that an operator makes.
import { changed, one } from '../../platform/database/statements.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { listBy } from '../../platform/temporal/expected-workflows.ts';
import type { EndpointColumns } from './endpoint.model.ts';
import { ofEndpoint, PACED, STATE_FACTS, WAITING } from './endpoint.store.ts';
import type { EndpointName } from './endpoint-state.ts';
import type { EndpointFacts } from './recovery-step.ts';

export type EndpointCase = EndpointFacts &
  Pick<EndpointColumns, 'lastError' | 'epoch' | 'watched'> & {
    readonly crowd: number;
    readonly crowdLastDueAt: Date | null;
    readonly crowdOldest: CrowdMember | null;
    readonly host: string;
    readonly failures: number;
  };

/** A delivery of a crowd; `since`: when it was accepted, ISO 8601. */
export type CrowdMember = { readonly id: string; readonly since: string };

// Of the crowd the first 10,000 by their times: how many, when the first and the last is due, and which is the oldest.
const CROWD = `
LEFT JOIN LATERAL (
  SELECT count(*)::int AS crowd, min(due_at) AS crowd_due_at, max(due_at) AS crowd_last_due_at, min(delivery_id::text)::uuid AS oldest
  FROM (SELECT delivery_id, due_at FROM crowded_deliveries c WHERE c.subscription_id = p.subscription_id ORDER BY due_at LIMIT 10000) AS c
) AS crowd ON true`;
const OLDEST = `
  (SELECT json_build_object('id', d.id, 'since', d.created_at) FROM deliveries d WHERE d.id = crowd.oldest) AS crowd_oldest`;

type Name = [subscriptionId: string, tenantId: string];

export const read = ofEndpoint(
  one<EndpointCase, Name>(`
SELECT p.active, p.deleted, p.state, p.hold_until, p.probe_at, p.permits_at,
  p.failing_since, p.warned, p.warned_for, p.last_error, p.epoch, ${STATE_FACTS},
  greatest(CASE WHEN p.tenant_held_until <= now() THEN p.tenant_held_until END,
    CASE WHEN p.host_held_until <= now() THEN p.host_held_until END) AS rested_until,
  CASE WHEN p.host_held_until > now() AND isfinite(p.host_held_until) THEN p.host_held_until END AS host_held_until,
  p.failures_in_a_row AS failures, p.watched, s.host, s.disable_after_days,
  ${WAITING}, crowd.crowd, crowd.crowd_due_at, crowd.crowd_last_due_at, ${OLDEST}
FROM endpoints p JOIN subscriptions s ON s.id = p.subscription_id ${CROWD}
WHERE p.subscription_id = $1 AND p.tenant_id = $2`),
);

/** Lists the subscriptions whose endpointRecovery should be running, because their endpoints are watched. */
export const listExpectedWorkflows = listBy(`
SELECT tenant_id, subscription_id AS entity_id FROM endpoints
WHERE watched AND subscription_id > $1 ORDER BY subscription_id LIMIT $2`);

const MINE = 'subscription_id = $1 AND tenant_id = $2 AND active AND NOT deleted';

// Neither the tenant nor the host is held.
const NOT_KEPT = 'coalesce(greatest(tenant_held_until, host_held_until) <= now(), true)';

/** Locks the endpoint against changes until the transaction ends. */
export const lock = ofEndpoint(
  changed<Name>('SELECT 1 FROM endpoints WHERE subscription_id = $1 AND tenant_id = $2 FOR NO KEY UPDATE'),
);

const noteWatched = ofEndpoint(
  changed<
    [
      ...Name,
      watched: boolean,
      epoch: number,
      failures: number,
      active: boolean,
      state: EndpointCase['state'],
    ]
  >(`
UPDATE endpoints SET watched = $3
WHERE subscription_id = $1 AND tenant_id = $2 AND epoch = $4 AND failures_in_a_row = $5 AND active = $6 AND state = $7`),
);

/** Notes whether a workflow watches the endpoint. @returns false when the endpoint has changed since it was read */
export const watch = (
  queryable: Queryable,
  endpoint: EndpointName,
  { epoch, failures, active, state }: Pick<EndpointCase, 'epoch' | 'failures' | 'active' | 'state'>,
  watched: boolean,
): Promise<boolean> => noteWatched(queryable, endpoint, watched, epoch, failures, active, state);

/** Notes the number of warnings of the outage that began at `warnedFor`; null without an outage. */
export const noteWarned = ofEndpoint(
  changed<[...Name, warned: number, warnedFor: Date | null]>(
    'UPDATE endpoints SET warned = $3, warned_for = $4 WHERE subscription_id = $1 AND tenant_id = $2',
  ),
);

/** Makes the probe of this epoch due now. An endpoint with a newer epoch is not changed. */
export const probe = ofEndpoint(
  changed<[...Name, epoch: number]>(`
UPDATE endpoints SET probe_at = now(), updated_at = now()
WHERE ${MINE} AND state = 'down' AND epoch = $3 AND probe_at > now()`),
);

/** Opens an endpoint, paced, and resets its failures. @returns false when it is open, inactive or deleted */
export const release = ofEndpoint(
  changed<Name>(`
UPDATE endpoints SET state = 'open', hold_until = NULL, probe_at = NULL, probe_step = 0, failures_in_a_row = 0, failing_deliveries = '{}',
  epoch = epoch + 1, ${PACED}, updated_at = now()
WHERE ${MINE} AND ${NOT_KEPT} AND (state <> 'open' OR hold_until IS NOT NULL)`),
);

/** Holds an endpoint for `seconds` from now, in place of an earlier hold. @returns false when inactive or deleted */
export const hold = ofEndpoint(
  changed<[...Name, seconds: number]>(`
UPDATE endpoints SET state = CASE state WHEN 'down' THEN 'down' ELSE 'held' END, hold_until = now() + $3 * interval '1 second',
  epoch = epoch + 1, ${PACED}, updated_at = now()
WHERE ${MINE}`),
);

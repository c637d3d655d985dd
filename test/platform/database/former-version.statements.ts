// What the version before this one says to Postgres in its busy rooms, word for word: its source is not here any more. A text is never
// made to fit a new schema: each release replaces all of them by its own, when the next version begins.

export const INSERT_CHALLENGES = `
INSERT INTO challenges
  (id, tenant_id, agent_id, key_id, key_fingerprint, algorithm, nonce, audience, scopes, token_audience, created_at, expires_at)
SELECT id, tenant_id, agent_id, key_id, key_fingerprint, algorithm, decode(nonce, 'hex'), audience, string_to_array(joined, ' '),
  token_audience, date_trunc('second', now()), date_trunc('second', now()) + make_interval(secs => $10)
FROM set_config('synchronous_commit', 'off', true),
  unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
    $11::text[])
    AS row (id, tenant_id, agent_id, key_id, key_fingerprint, algorithm, nonce, audience, joined, token_audience)
ON CONFLICT (id) DO UPDATE SET id = excluded.id
RETURNING id, created_at, expires_at`;

export const LOAD_CHALLENGES = `
SELECT c.id, c.tenant_id, c.key_fingerprint, c.algorithm, c.nonce, c.audience, c.scopes, c.token_audience, c.created_at, c.expires_at, c.consumed_at, 
  k.id AS key_id, k.algorithm AS key_algorithm, k.public_key, k.fingerprint, k.state, k.sunset_at, k.deprecated_at,
  coalesce(k.last_used_at > now() - interval '1 minute', false) AS is_use_noted, k.verified_at IS NOT NULL AS is_verified,
  a.id AS agent_id, a.name, a.capabilities, a.status, a.deleted_at IS NOT NULL AS is_deleted,
  a.audience AS agent_audience, a.audiences AS agent_audiences, a.scopes AS agent_scopes, now() AS now
FROM unnest($1::uuid[], $2::uuid[]) AS asked (tenant_id, id)
JOIN challenges c ON c.tenant_id = asked.tenant_id AND c.id = asked.id
LEFT JOIN agent_keys k ON k.id = c.key_id AND k.tenant_id = c.tenant_id
LEFT JOIN agents a ON a.id = k.agent_id`;

export const CONSUME_CHALLENGES = `
WITH asked AS (
  SELECT * FROM unnest($1::uuid[], $2::uuid[]) AS row (tenant_id, id)
), usable AS MATERIALIZED (
  SELECT c.id, c.key_id
  FROM asked JOIN challenges c ON c.id = asked.id AND c.tenant_id = asked.tenant_id
    JOIN agents a ON a.id = c.agent_id JOIN agent_keys k ON k.id = c.key_id
  WHERE c.consumed_at IS NULL AND c.expires_at > now()
    AND a.deleted_at IS NULL AND a.status = 'active' AND c.scopes <@ a.scopes
    AND (c.token_audience IS NULL OR c.token_audience = ANY (a.audiences) OR c.token_audience =
      coalesce(a.audience, (SELECT coalesce(audience, base_url) FROM tenants WHERE tenants.id = c.tenant_id)))
    AND (k.state = 'active' OR (k.state = 'deprecated' AND k.sunset_at > now()))
  ORDER BY c.id
  FOR KEY SHARE OF a, k  FOR NO KEY UPDATE OF c 
), consumed AS (
  UPDATE challenges SET consumed_at = now() FROM usable
  WHERE challenges.id = usable.id AND consumed_at IS NULL
  RETURNING challenges.id, usable.key_id
), unused AS MATERIALIZED (
  SELECT id, verified_at IS NULL AS is_unverified FROM agent_keys
  WHERE id IN (SELECT key_id FROM consumed) AND first_used_at IS NULL
  ORDER BY id FOR NO KEY UPDATE
), first_used AS (
  UPDATE agent_keys SET first_used_at = now(), verified_at = coalesce(verified_at, now()) FROM unused
  WHERE agent_keys.id = unused.id AND first_used_at IS NULL
  RETURNING agent_keys.id, is_unverified
), admitted AS (
  SELECT id::text AS guard FROM consumed
  UNION ALL
  SELECT 'first:' || min(id::text) FROM consumed
  WHERE key_id IN (SELECT id FROM first_used WHERE is_unverified) GROUP BY key_id
)
SELECT id FROM consumed`;

export const INSERT_ANCHOR = `
INSERT INTO anchors (id, tenant_id, agent_id, type, value, proof, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, now() + $7 * interval '1 day')
ON CONFLICT (agent_id, type, value) WHERE status IN ('pending', 'verified') DO NOTHING
RETURNING id`;

export const LIST_ANCHORS = `
SELECT * FROM anchor_records
WHERE tenant_id = $1 AND agent_id = $2 AND ($3::uuid IS NULL OR id < $3) AND ($4::text IS NULL OR type = $4)
  AND ($5::text IS NULL OR status = $5)
ORDER BY id DESC LIMIT $6`;

export const INSERT_DELEGATION = `
INSERT INTO delegations (id, tenant_id, agent_id, subject_issuer, subject_sub, scopes, audience, expires_at)
SELECT $1, $2, $3, $4, $5, $6::text[], $7, $8::timestamptz
WHERE $8::timestamptz > now() AND $8::timestamptz <= now() + interval '1 year'
RETURNING id`;

export const LIST_DELEGATIONS = `
SELECT * FROM delegation_records
WHERE tenant_id = $1 AND ($2::uuid IS NULL OR id < $2) AND ($3::uuid IS NULL OR agent_id = $3) AND ($4::text IS NULL OR status = $4)
  AND ($5::text IS NULL OR subject_issuer = $5) AND ($6::text IS NULL OR subject_sub = $6)
ORDER BY id DESC LIMIT $7`;

export const FIND_FOR_EXCHANGE = `
SELECT delegation.id, delegation.scopes, delegation.audience, delegation.expires_at,
       CASE WHEN delegation.revoked_at IS NOT NULL THEN 'revoked'
            WHEN delegation.expires_at <= clock_timestamp() THEN 'expired' ELSE 'active' END AS status,
       agent.name AS agent_name, agent.capabilities AS agent_capabilities, agent.scopes AS agent_scopes,
       agent.audience AS agent_audience, agent.audiences AS agent_audiences,
       CASE WHEN agent.deleted_at IS NULL THEN agent.status ELSE 'deleted' END AS agent_status,
       NOT EXISTS (SELECT 1 FROM unnest($7::uuid[]) AS link (id) WHERE NOT EXISTS (
         SELECT 1 FROM agents WHERE agents.id = link.id AND agents.tenant_id = $1
           AND agents.status = 'active' AND agents.deleted_at IS NULL)) AS links_active
FROM delegations delegation
JOIN agents agent ON agent.id = delegation.agent_id
WHERE delegation.tenant_id = $1 AND delegation.subject_issuer = $2 AND delegation.subject_sub = $3 AND delegation.agent_id = $4
ORDER BY delegation.revoked_at IS NULL AND delegation.expires_at > clock_timestamp() DESC,
         delegation.scopes @> $5::text[] AND ($6::text IS NULL OR delegation.audience IS NULL OR delegation.audience = $6) DESC,
         delegation.id DESC
LIMIT 1
FOR KEY SHARE OF delegation, agent`;

export const CLAIM_COMMANDS = `
UPDATE workflow_commands SET tries = tries + 1, due_at = now() + $2::float8 * interval '1 millisecond'
WHERE id IN (
  SELECT id FROM workflow_commands WHERE due_at <= now() ORDER BY due_at, id LIMIT $1 FOR UPDATE SKIP LOCKED)
RETURNING id, tenant_id AS "tenantId", workflow, entity_id AS "entityId"`;

export const POSTPONE_COMMANDS = `
UPDATE workflow_commands SET due_at = now() + least($2, 100 * power(2, least(tries, 20))) * interval '1 millisecond'
WHERE id = ANY($1::uuid[])`;

export const PUBLISH = `
WITH 
input AS (
  SELECT *, string_to_array(joined, ' ') AS candidates FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::timestamptz[], $6::text[], $7::text[], $8::uuid[], $9::uuid[], $10::boolean[]) AS row (id, tenant_id, event_id, type, occurred_at, body, joined, only_subscription, except_subscription, test)
), 
matched AS (
  SELECT i.id, s.id AS subscription_id, delivery_id_of(i.id, s.id) AS delivery_id
  FROM input i CROSS JOIN LATERAL (
    SELECT id FROM subscriptions
    WHERE tenant_id = i.tenant_id AND deleted_at IS NULL
      AND CASE WHEN i.only_subscription IS NOT NULL THEN id = i.only_subscription
          ELSE filters && i.candidates AND id IS DISTINCT FROM i.except_subscription END
    OFFSET 0
  ) s
), counted AS (
  SELECT i.id, count(m.id)::int AS deliveries,
    CASE WHEN i.only_subscription IS NOT NULL THEN min(m.delivery_id::text) END AS delivery_id
  FROM input i LEFT JOIN matched m ON m.id = i.id
  GROUP BY i.id, i.only_subscription
), accepted AS (
  INSERT INTO published_events (tenant_id, event_id, id, digest, deliveries)
  SELECT i.tenant_id, i.event_id, i.id, decode(d.digest, 'hex'), c.deliveries
  FROM input i JOIN counted c ON c.id = i.id JOIN unnest($1::uuid[], $11::text[]) AS d (id, digest) ON d.id = i.id
  ORDER BY i.tenant_id, i.event_id
  ON CONFLICT DO NOTHING
  RETURNING id, deliveries, NULL::text AS delivery_id
), 
new_events AS (
  INSERT INTO events (id, tenant_id, event_id, type, occurred_at, body, test, deliveries)
  SELECT i.id, i.tenant_id, i.event_id, i.type, i.occurred_at, convert_to(i.body, 'UTF8'), i.test, a.deliveries
  FROM input i JOIN accepted a ON a.id = i.id WHERE true
  ON CONFLICT DO NOTHING
  RETURNING id
), new_deliveries AS (
  INSERT INTO deliveries (id, tenant_id, subscription_id, event_row, event_id, event_type, test, next_attempt_at)
  SELECT m.delivery_id, i.tenant_id, m.subscription_id, i.id, i.event_id, i.type, i.test, now()
  FROM matched m JOIN new_events n ON n.id = m.id JOIN input i ON i.id = m.id
  ON CONFLICT DO NOTHING
  RETURNING id, tenant_id, subscription_id
), new_work AS (
  INSERT INTO outbox (id, tenant_id, endpoint, delivery_id, kind)
  SELECT id, tenant_id, subscription_id, id, 'first' FROM new_deliveries
  ON CONFLICT DO NOTHING
) SELECT id, deliveries, delivery_id FROM accepted`;

export const READY_ENDPOINTS = `
WITH RECURSIVE ready AS (
  (SELECT o.tenant_id, o.endpoint FROM outbox o
   WHERE o.claimed_by IS NULL AND o.kind <> 'command' AND (o.tenant_id, o.endpoint) > ($1::uuid, $2::uuid)
   ORDER BY o.tenant_id, o.endpoint LIMIT 1)
  UNION ALL
  SELECT following.tenant_id, following.endpoint FROM ready r CROSS JOIN LATERAL (
    SELECT o.tenant_id, o.endpoint FROM outbox o
    WHERE o.claimed_by IS NULL AND o.kind <> 'command' AND (o.tenant_id, o.endpoint) > (r.tenant_id, r.endpoint)
    ORDER BY o.tenant_id, o.endpoint LIMIT 1) AS following
)
SELECT r.tenant_id, r.endpoint, endpoint_is_open(l) AS open, l.p90_ms, l.failures_in_a_row > 0 AS failing, l.in_flight_cap AS cap,
  endpoint_permits(l) AS permits, endpoint_tokens(l) AS tokens, l.rate
FROM (SELECT * FROM ready LIMIT $3) r JOIN endpoints l ON l.subscription_id = r.endpoint
ORDER BY r.tenant_id, r.endpoint`;

export const CLAIM_WORK = `
WITH unflushed AS (
  SELECT set_config('synchronous_commit', 'off', true)
), gate AS (
  SELECT l.subscription_id, endpoint_permits(l) AS permits, endpoint_tokens(l) AS tokens FROM endpoints l
  WHERE l.subscription_id = ANY($4::uuid[]) AND (l.permits IS NOT NULL OR l.rate IS NOT NULL)
  ORDER BY l.subscription_id FOR UPDATE SKIP LOCKED
), picked AS (
  SELECT o.id FROM unflushed CROSS JOIN unnest($3::uuid[], $4::uuid[], $5::int[]) AS w (tenant_id, endpoint, quota)
  JOIN endpoints l ON l.subscription_id = w.endpoint AND endpoint_is_open(l)
  LEFT JOIN gate g ON g.subscription_id = w.endpoint
  CROSS JOIN LATERAL (
    SELECT id FROM outbox
    WHERE tenant_id = w.tenant_id AND endpoint = w.endpoint AND claimed_by IS NULL AND kind <> 'command' AND ($6 OR kind = 'first')
    ORDER BY tenant_id, endpoint, rank, id
    LIMIT CASE WHEN l.permits IS NULL AND l.rate IS NULL THEN w.quota
      ELSE greatest(0, least(w.quota, coalesce(least(g.permits, floor(g.tokens)::int), 0))) END
    FOR UPDATE SKIP LOCKED) AS o
), claimed AS (
  UPDATE outbox SET claimed_by = $1, claim_epoch = $2 FROM picked WHERE outbox.id = picked.id AND EXISTS (
  SELECT 1 FROM relays r WHERE r.instance = $1 AND r.epoch = $2 AND r.seen_at > now() - interval '5 seconds')
  RETURNING outbox.*
), spent AS (
  UPDATE endpoints l SET permits = CASE WHEN l.permits IS NOT NULL THEN greatest(0, g.permits - c.rows) END, permits_at = now(),
    tokens = coalesce(g.tokens - c.rows, l.tokens), tokens_at = greatest(l.tokens_at, now())
  FROM (SELECT endpoint, count(*)::int AS rows FROM claimed GROUP BY endpoint) AS c JOIN gate g ON g.subscription_id = c.endpoint
  WHERE l.subscription_id = c.endpoint
)

SELECT c.id, c.kind, c.command, c.delivery_id, c.generation, c.tenant_id, c.endpoint, d.status, d.generation AS row_generation,
  coalesce(d.attempt_count, 0) AS attempt_count, coalesce(d.event_type, '') AS event_type, s.host, l.epoch,
  l.permits IS NOT NULL AND c.kind <> 'command' AS paced
FROM claimed c
JOIN subscriptions s ON s.id = c.endpoint JOIN endpoints l ON l.subscription_id = c.endpoint
LEFT JOIN deliveries d ON d.id = c.delivery_id
ORDER BY c.id`;

export const COMPLETE_WORK = `
WITH own AS (
  DELETE FROM outbox o USING unnest($3::uuid[], $4::boolean[], $5::bigint[]) AS w (id, mark, epoch)
  WHERE o.id = ANY($3::uuid[]) AND o.id = w.id AND o.claimed_by = $1 AND o.claim_epoch = $2
  RETURNING o.id, o.delivery_id, o.generation, o.kind, w.mark, w.epoch
), target AS (
  SELECT d.id, own.kind, own.generation, own.epoch FROM own JOIN deliveries d ON d.id = own.delivery_id
  WHERE own.mark AND d.id = ANY($6::uuid[]) AND CASE own.kind
    WHEN 'wake' THEN d.waiting_epoch <= own.epoch
    ELSE d.generation = own.generation AND d.started_generation IS DISTINCT FROM own.generation END
  ORDER BY d.id FOR UPDATE OF d
), woken AS (
  UPDATE deliveries d SET waiting_epoch = NULL, next_attempt_at = now() FROM target t
  WHERE d.id = ANY($6::uuid[]) AND d.id = t.id AND t.kind = 'wake' AND NOT EXISTS (
    SELECT 1 FROM outbox o WHERE o.delivery_id = d.id AND o.kind = 'wake' AND o.id NOT IN (SELECT id FROM own))
), marked AS (
  UPDATE deliveries d SET started_generation = t.generation, needs_workflow = false FROM target t
  WHERE d.id = ANY($6::uuid[]) AND d.id = t.id AND t.kind IN ('first', 'start')
  RETURNING d.id, d.tenant_id, d.subscription_id, d.generation, d.retry_requested_at, d.status
)
INSERT INTO outbox (id, tenant_id, endpoint, delivery_id, generation, kind, command)
SELECT gen_random_uuid(), tenant_id, subscription_id, id, generation, 'command',
  CASE status WHEN 'canceled' THEN 'cancel' ELSE 'retry' END
FROM marked WHERE retry_requested_at IS NOT NULL OR status = 'canceled'`;

export const LOAD_DELIVERIES = `
SELECT w.place, d.tenant_id, d.subscription_id, d.event_id, d.event_type, d.test, d.status, d.generation, d.attempt_count, greatest(0, ceil(extract(epoch FROM d.next_attempt_at - clock_timestamp()) * 1000))::float8 AS due_in_ms,
  d.retry_requested_at IS NOT NULL AS retry_requested, coalesce(d.last_error, 'http:' || d.last_status_code) AS last_outcome,
  EXISTS (SELECT 1 FROM attempts a WHERE a.delivery_id = w.id AND a.n >= w.n AND a.generation = w.generation) AS recorded,
  now()::timestamptz(3) AS loaded_at,
  endpoint_is_open(l) AS endpoint_open, l.deleted AS endpoint_deleted, l.state = 'down' AS endpoint_down, l.permits IS NOT NULL AS endpoint_paced,
  l.rate IS NOT NULL AS endpoint_rated, l.in_flight_cap AS endpoint_cap,
  l.epoch AS endpoint_epoch, l.failures_in_a_row > 0 OR l.permits IS NOT NULL OR l.state <> 'open' AS endpoint_failing,
  e.body, s.url, s.max_age, s.secret_sealed, s.next_secret_sealed, s.headers_sealed,
  coalesce(s.secret_overlap_ends_at <= now(), false) AS overlap_ended
FROM unnest($1::uuid[], $2::int[], $3::int[]) WITH ORDINALITY AS w (id, n, generation, place)
CROSS JOIN LATERAL (SELECT * FROM deliveries WHERE deliveries.id = w.id OFFSET 0) AS d
JOIN endpoints l ON l.subscription_id = d.subscription_id
JOIN subscriptions s ON s.id = d.subscription_id
LEFT JOIN LATERAL (SELECT body FROM events WHERE events.id = d.event_row OFFSET 0) AS e ON true`;

export const RECORD_FAILED = `
UPDATE deliveries SET status = $2, failed_attempts = $3, attempt_count = greatest(attempt_count, $4),
  next_attempt_at = clock_timestamp() + ($5::float8 + 0.5) * interval '1 millisecond',
  completed_at = CASE WHEN $2 = 'failed' THEN now() END,
  waiting_epoch = NULL, needs_workflow = $6, last_status_code = $7, last_error = $8,
  retry_requested_at = CASE WHEN retry_requested_at > $9 AND $2 <> 'failed' THEN retry_requested_at END,
  started_generation = greatest(started_generation, $10)
WHERE id = $1`;

export const PARK = `
WITH parked AS (
  UPDATE deliveries SET waiting_epoch = $3, next_attempt_at = NULL, started_generation = greatest(started_generation, $2)
  WHERE id = $1 AND generation = $2 AND status IN ('pending', 'retrying')
  RETURNING id, tenant_id, subscription_id, generation
), replaced AS (
  DELETE FROM outbox WHERE id IN (
    SELECT o.id FROM outbox o JOIN parked ON parked.id = o.delivery_id
    WHERE o.delivery_id = $1 AND o.kind = 'wake' AND o.claimed_by IS NULL FOR UPDATE OF o SKIP LOCKED)
)
INSERT INTO outbox (id, tenant_id, endpoint, delivery_id, generation, kind, rank)
SELECT $4, tenant_id, subscription_id, id, generation, 'wake', CASE WHEN generation > 0 THEN 2 ELSE 1 END FROM parked`;

export const RECORD_DELIVERED = `
WITH input AS (
  SELECT * FROM unnest($1::uuid[], $2::int[], $3::uuid[], $4::uuid[], $5::int[], $6::boolean[], $7::timestamptz[], $8::int[], $9::jsonb[],
    $10::int[], $11::int[], $12::text[], $13::int[])
    AS i (delivery_id, n, tenant_id, subscription_id, generation, probe, started_at, duration_ms, phases,
      status_code, retry_after_seconds, response_excerpt, workflow)
), attempt AS (
  INSERT INTO attempts (delivery_id, n, tenant_id, subscription_id, generation, probe, started_at, duration_ms, phases,
  status_code, outcome, error, retry_after_seconds, response_excerpt)
  SELECT delivery_id, numbered.n, tenant_id, subscription_id, generation, probe, started_at, duration_ms, phases, status_code,
    'delivered', NULL, retry_after_seconds, response_excerpt
  FROM input i CROSS JOIN LATERAL (
    SELECT coalesce(max(a.n) FILTER (WHERE a.generation = i.generation AND a.started_at = i.started_at),
      CASE WHEN bool_or(a.n = i.n) THEN max(a.n) + 1 ELSE i.n END) AS n
    FROM attempts a WHERE a.delivery_id = i.delivery_id) AS numbered
  ORDER BY delivery_id
  ON CONFLICT (delivery_id, n) DO UPDATE SET probe = excluded.probe, duration_ms = excluded.duration_ms, phases = excluded.phases,
    status_code = excluded.status_code, outcome = excluded.outcome, error = excluded.error,
    retry_after_seconds = excluded.retry_after_seconds, response_excerpt = excluded.response_excerpt, recorded_at = now()
  WHERE attempts.generation = excluded.generation AND attempts.started_at = excluded.started_at
  RETURNING delivery_id, n
), locked AS (
  SELECT d.id FROM deliveries d WHERE d.id = ANY($1::uuid[]) AND d.id IN (SELECT delivery_id FROM attempt)
  ORDER BY d.id FOR UPDATE
), delivered AS (
  UPDATE deliveries d SET status = 'delivered', attempt_count = greatest(d.attempt_count, a.n), next_attempt_at = NULL,
    needs_workflow = false, waiting_epoch = NULL, retry_requested_at = NULL, last_status_code = i.status_code, last_error = NULL,
    completed_at = CASE WHEN d.status = 'delivered' THEN d.completed_at ELSE now() END,
    started_generation = greatest(d.started_generation, i.workflow)
  FROM locked l JOIN attempt a ON a.delivery_id = l.id JOIN input i ON i.delivery_id = l.id
  WHERE d.id = ANY($1::uuid[]) AND d.id = l.id AND (d.status <> 'delivered' OR d.attempt_count < a.n)
)
SELECT delivery_id, n FROM attempt`;

export const FAIL_ENDPOINT = `
WITH endpoint AS (
  SELECT l.*, cardinality(l.failing_deliveries) + CASE WHEN $2 = ANY(l.failing_deliveries) THEN 0 ELSE 1 END AS deliveries
  FROM endpoints l WHERE l.subscription_id = $1 AND NOT l.deleted FOR UPDATE
), judged AS (
  SELECT endpoint.*, state = 'down' AND $4 AS probed, $3::float8 IS NOT NULL AS holds,
    state <> 'down' AND failures_in_a_row + 1 >= $5 AND deliveries >= $6 AS falls
  FROM endpoint
), next AS (
  SELECT judged.*, falls OR probed OR holds AS closes,
    falls OR probed OR holds AND (hold_until IS NULL OR hold_until <= now())
      OR NOT watched AND failures_in_a_row + 1 >= 3 AS tells,
    CASE WHEN falls THEN 0 WHEN probed THEN least(probe_step + 1, cardinality($7::float8[]) - 1) ELSE probe_step END AS step
  FROM judged
)
UPDATE endpoints l SET
  failures_in_a_row = l.failures_in_a_row + 1,
  failing_since = coalesce(l.failing_since, now()),
  failing_deliveries = CASE WHEN $2 = ANY(l.failing_deliveries) OR cardinality(l.failing_deliveries) >= 3
    THEN l.failing_deliveries ELSE l.failing_deliveries || $2::uuid END,
  state = CASE WHEN l.state = 'down' OR next.falls THEN 'down' WHEN next.holds THEN 'held' ELSE l.state END,
  hold_until = greatest(l.hold_until, now() + ($3::float8 + 0.5) * interval '1 millisecond'),
  probe_step = next.step,
  probe_at = CASE WHEN next.falls OR next.probed
    THEN now() + ($7::float8[])[next.step + 1] * interval '1 millisecond' ELSE l.probe_at END,
  permits = CASE WHEN next.closes THEN 1 WHEN l.state = 'down' THEN l.permits ELSE l.permits + 1 END,
  permits_at = now(),
  released = CASE WHEN next.closes THEN 0 ELSE l.released END,
  epoch = l.epoch + CASE WHEN next.closes THEN 1 ELSE 0 END,
  last_error = $8, watched = l.watched OR next.tells,
  updated_at = now()
FROM next WHERE l.subscription_id = next.subscription_id
RETURNING l.state, next.closes AS closed, next.tells AS tell`;

export const RECOVER_ENDPOINT = `
WITH endpoint AS (
  SELECT *, hold_until > now() IS TRUE AS held FROM endpoints
  WHERE subscription_id = $1 AND NOT deleted AND (failures_in_a_row > 0 OR permits IS NOT NULL OR state <> 'open') FOR UPDATE
)
UPDATE endpoints l SET
  failures_in_a_row = 0, failing_since = NULL, failing_deliveries = '{}', probe_step = 0, probe_at = NULL, last_error = NULL,
  state = CASE WHEN endpoint.held THEN 'held' ELSE 'open' END,
  hold_until = CASE WHEN endpoint.held THEN l.hold_until END,
  permits = CASE WHEN endpoint.held THEN l.permits WHEN l.released + 1 >= l.in_flight_cap THEN NULL ELSE l.permits + 2 END,
  released = CASE WHEN l.permits IS NULL OR endpoint.held OR l.released + 1 >= l.in_flight_cap THEN 0 ELSE l.released + 1 END,
  permits_at = now(), updated_at = now()
FROM endpoint WHERE l.subscription_id = endpoint.subscription_id
RETURNING l.tenant_id AS "tenantId",
  l.watched AND (endpoint.failures_in_a_row > 0 OR endpoint.state <> l.state OR l.permits IS NULL) AS tell`;

export const SET_ACTIVE = `
UPDATE endpoints SET active = $2, permits = 1, released = 0, permits_at = now(), updated_at = now(), epoch = epoch + CASE WHEN $2 THEN 1 ELSE 0 END,
  failing_since = CASE WHEN $2 AND failing_since IS NOT NULL THEN now() ELSE failing_since END,
  warned = CASE WHEN $2 THEN 0 ELSE warned END, warned_for = CASE WHEN $2 THEN NULL ELSE warned_for END,
  probe_step = CASE WHEN $2 THEN 0 ELSE probe_step END,
  probe_at = CASE WHEN $2 AND probe_at > now() THEN now() ELSE probe_at END
WHERE subscription_id = $1 AND NOT deleted AND active <> $2
  AND ($3::int IS NULL OR failing_since <= now() - $3::int * interval '1 day')
RETURNING tenant_id AS "tenantId", watched OR $2 AND (state <> 'open' OR failures_in_a_row > 0) AS tell`;

export const READ_ENDPOINTS = `
SELECT l.subscription_id, l.active, l.deleted, l.failing_since, l.epoch,
  CASE WHEN l.state = 'held' AND (l.hold_until IS NULL OR l.hold_until <= now()) THEN 'open' ELSE l.state END AS state,
  greatest(CASE WHEN l.hold_until > now() THEN l.hold_until END, CASE WHEN l.probe_at > now() THEN l.probe_at END) AS hold_until,
  (SELECT count(*)::int FROM (
     SELECT 1 FROM deliveries d
     WHERE d.subscription_id = l.subscription_id AND d.status IN ('pending', 'retrying') LIMIT 10000
   ) AS unfinished) AS waiting
FROM endpoints l WHERE l.subscription_id = ANY($1::uuid[])`;

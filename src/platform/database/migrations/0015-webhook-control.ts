// What people set and ask of webhooks as a whole: an endpoint's rate, the order of its work, and replays of many deliveries.

export const webhookControl = `
-- rate: attempts a second at most, the subscription's rate_limit (null: no limit). tokens: attempts that could begin at tokens_at; below
-- zero after one that was not asked to wait.
ALTER TABLE endpoints
  ADD COLUMN rate integer CHECK (rate > 0),
  ADD COLUMN tokens double precision NOT NULL DEFAULT 1,
  ADD COLUMN tokens_at timestamptz NOT NULL DEFAULT now();
UPDATE endpoints l SET rate = s.rate_limit FROM subscriptions s WHERE s.id = l.subscription_id AND s.rate_limit IS NOT NULL;

-- Attempts that may begin now in an endpoint with a rate, as a fraction; null in one without. What is not used is kept for a tenth of a second.
CREATE FUNCTION endpoint_tokens(endpoint endpoints) RETURNS double precision LANGUAGE sql STABLE AS $function$
  SELECT CASE WHEN endpoint.rate IS NOT NULL THEN least(greatest(1, endpoint.rate / 10.0::float8),
    endpoint.tokens + endpoint.rate * greatest(0, extract(epoch FROM now() - endpoint.tokens_at)::float8)) END
$function$;

-- rank: within an endpoint first attempts (0) go before retries (1), retries before replays (2), and of each the oldest first.
ALTER TABLE outbox ADD COLUMN rank smallint NOT NULL DEFAULT 0;
UPDATE outbox SET rank = CASE WHEN generation > 0 THEN 2 ELSE 1 END WHERE kind IN ('wake', 'start');
DROP INDEX outbox_ready;
CREATE INDEX outbox_ready ON outbox (tenant_id, endpoint, rank, id) WHERE claimed_by IS NULL AND kind <> 'command';

-- A replay of many deliveries of one subscription: those that had ended with delivery_status before created_at. matched: their number
-- then; next_after: all up to this delivery are done.
CREATE TABLE recoveries (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  subscription_id uuid NOT NULL REFERENCES subscriptions,
  delivery_status text NOT NULL CHECK (delivery_status IN ('failed', 'canceled', 'delivered')),
  since timestamptz(3) NOT NULL,
  until timestamptz(3) NOT NULL,
  status text NOT NULL DEFAULT 'running' CHECK (status IN ('running', 'completed', 'canceled')),
  end_reason text,
  matched integer NOT NULL,
  replayed integer NOT NULL DEFAULT 0,
  next_after uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  completed_at timestamptz(3)
);
CREATE INDEX recoveries_by_subscription ON recoveries (tenant_id, subscription_id, id);
CREATE UNIQUE INDEX recoveries_running ON recoveries (subscription_id) WHERE status = 'running';
`;

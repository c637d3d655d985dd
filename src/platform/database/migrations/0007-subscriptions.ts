// Subscriptions, the filters by which an event finds them, and streams of security events.

export const subscriptions = `
-- The name of a host without its port.
CREATE FUNCTION host_name(host text) RETURNS text LANGUAGE sql IMMUTABLE AS $function$
  SELECT regexp_replace(host, ':[0-9]+$', '')
$function$;

CREATE TABLE subscriptions (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  url text NOT NULL,
  -- The URL's host, with the port where the scheme has another. An IPv4-mapped address stands as the IPv4 address: [::ffff:5db8:d822] is 93.184.216.34.
  host text NOT NULL,
  event_types text[] NOT NULL,
  -- event_types with ** written as *.
  filters text[] NOT NULL,
  description text,
  -- aud of the stream's security event tokens; null: the subscription is no stream.
  stream_audience text,
  sink text NOT NULL CHECK (sink IN ('standard', 'security', 'audit')),
  -- The form in which deliveries carry their events.
  envelope text NOT NULL DEFAULT 'plain' CHECK (envelope IN ('plain', 'cloudevents-structured', 'cloudevents-binary')),
  -- By which signatures the receiver verifies deliveries.
  signatures text[] NOT NULL DEFAULT '{service-webhook-v1,v1}',
  -- The secrets and the headers are sealed with a master key.
  secret_sealed bytea NOT NULL,
  -- During a rotation both secrets sign, until the overlap ends.
  next_secret_sealed bytea,
  secret_overlap_ends_at timestamptz(3),
  headers_sealed bytea,
  -- Seconds for which a receiver takes a signature as fresh.
  max_age integer NOT NULL DEFAULT 300 CHECK (max_age BETWEEN 60 AND 3600),
  -- Attempts a second at most; null: no limit.
  rate_limit integer,
  -- Null: the default schedule.
  retry_policy jsonb,
  disable_after_days integer NOT NULL DEFAULT 14,
  disabled_reason text,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  deleted_at timestamptz(3)
);
CREATE INDEX subscriptions_by_tenant ON subscriptions (tenant_id, id) WHERE deleted_at IS NULL;
CREATE INDEX subscriptions_by_host ON subscriptions (host_name(host), id) WHERE deleted_at IS NULL;
-- Subscriptions whose rotation of secrets has a workflow.
CREATE INDEX subscriptions_overlapping ON subscriptions (id) WHERE secret_overlap_ends_at IS NOT NULL;
CREATE INDEX subscriptions_by_sealing_key ON subscriptions (sealing_key(secret_sealed), id) WHERE secret_sealed IS NOT NULL;
CREATE INDEX subscriptions_by_next_sealing_key ON subscriptions (sealing_key(next_secret_sealed), id) WHERE next_secret_sealed IS NOT NULL;
CREATE INDEX subscriptions_by_headers_sealing_key ON subscriptions (sealing_key(headers_sealed), id) WHERE headers_sealed IS NOT NULL;

-- The filters of live subscriptions, a row each, so that the subscriptions of an event are found by its type. A trigger keeps the rows equal
-- to subscriptions.filters.
CREATE TABLE subscription_filters (
  tenant_id uuid NOT NULL,
  filter text NOT NULL,
  subscription_id uuid NOT NULL,
  -- A stream may leave out the event's subject.
  is_stream boolean NOT NULL,
  PRIMARY KEY (tenant_id, filter, subscription_id)
);

-- Runs with the rights of the tables' owner, so that no process needs to write the table. Temporary tables come last, so that none is taken
-- for it.
CREATE FUNCTION keep_subscription_filters() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $function$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    DELETE FROM subscription_filters
    WHERE tenant_id = OLD.tenant_id AND filter = ANY (OLD.filters) AND subscription_id = OLD.id;
  END IF;
  IF TG_OP <> 'DELETE' AND NEW.deleted_at IS NULL THEN
    INSERT INTO subscription_filters (tenant_id, filter, subscription_id, is_stream)
    SELECT DISTINCT NEW.tenant_id, filter, NEW.id, NEW.stream_audience IS NOT NULL FROM unnest(NEW.filters) AS filter;
  END IF;
  RETURN NULL;
END
$function$;
DO $do$
BEGIN
  EXECUTE format('ALTER FUNCTION keep_subscription_filters SET search_path = %I, pg_temp', current_schema());
END
$do$;
CREATE TRIGGER subscription_filters_kept AFTER INSERT OR DELETE OR UPDATE OF filters, deleted_at ON subscriptions
  FOR EACH ROW EXECUTE FUNCTION keep_subscription_filters();

-- What a subscription that is a stream has beside. Its endpoint is inactive while it is paused, and always when its receiver polls.
CREATE TABLE streams (
  -- The subscription.
  id uuid PRIMARY KEY REFERENCES subscriptions,
  tenant_id uuid NOT NULL REFERENCES tenants,
  -- The client that created the stream, and the only one that can see it.
  receiver text NOT NULL,
  method text NOT NULL CHECK (method IN ('push', 'poll')),
  -- URIs as the receiver sent them; null: all that are supported.
  events_requested text[],
  -- As the receiver has set it. A disabled stream has no filters.
  status text NOT NULL DEFAULT 'enabled' CHECK (status IN ('enabled', 'paused', 'disabled')),
  reason text
);
CREATE INDEX streams_by_receiver ON streams (tenant_id, receiver, id);

-- An agent of which a stream's receiver wants to hear nothing.
CREATE TABLE stream_exclusions (
  stream_id uuid NOT NULL REFERENCES streams,
  agent_id uuid NOT NULL,
  PRIMARY KEY (stream_id, agent_id)
);

-- Whether the receiver wants an event with this body.
CREATE FUNCTION stream_takes(stream uuid, body text) RETURNS boolean LANGUAGE sql STABLE AS $function$
  SELECT NOT EXISTS (
    SELECT 1 FROM stream_exclusions e WHERE e.stream_id = stream
      AND e.agent_id::text = coalesce(body::jsonb #>> '{data,agent_id}', body::jsonb #>> '{data,sub}'))
$function$;
`;

// Streams of security events: what makes a subscription a stream, subjects that a stream leaves out, and the keys that
// sign security event tokens.

export const streams = `
-- aud of the stream's security event tokens; null: the subscription is no stream.
ALTER TABLE subscriptions ADD COLUMN stream_audience text;

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

-- Keys that sign security event tokens and nothing else; the columns are those of issuer_keys. A table of its own, so that a process of an
-- earlier version, which knows no purpose of keys, signs no access token with them.
CREATE TABLE event_keys (
  id uuid NOT NULL UNIQUE,
  kid text PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  algorithm text NOT NULL CHECK (algorithm = 'RS256'),
  public_jwk jsonb NOT NULL,
  private_sealed bytea,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  activate_at timestamptz(3) NOT NULL,
  retire_at timestamptz(3),
  remove_at timestamptz(3),
  revoked_at timestamptz(3)
);
CREATE INDEX event_keys_by_tenant ON event_keys (tenant_id, activate_at);
CREATE INDEX event_keys_by_sealing_key ON event_keys (sealing_key(private_sealed), id) WHERE private_sealed IS NOT NULL;
`;

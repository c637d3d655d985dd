// Anchors: domain names that an agent's owner proves to control.

export const anchors = `
-- value: a domain name in lower case and A-labels. proof: the text that is to be found there; nobody can guess it.
CREATE TABLE anchors (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  agent_id uuid NOT NULL REFERENCES agents,
  type text NOT NULL CHECK (type IN ('domain_https', 'domain_dns')),
  value text NOT NULL,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'verified', 'failed', 'revoked')),
  proof text NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  verified_at timestamptz(3),
  revoked_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT anchors_verified_at CHECK (status <> 'verified' OR verified_at IS NOT NULL),
  CONSTRAINT anchors_revoked_at CHECK ((status = 'revoked') = (revoked_at IS NOT NULL))
);
CREATE INDEX anchors_by_agent ON anchors (agent_id, id);
CREATE UNIQUE INDEX anchors_live_unique ON anchors (agent_id, type, value) WHERE status IN ('pending', 'verified');

-- A pending anchor whose time is over has failed, whether or not somebody has written that down.
CREATE VIEW anchor_records AS
SELECT anchor.id, anchor.tenant_id, anchor.agent_id, anchor.type, anchor.value,
       CASE WHEN anchor.status = 'pending' AND anchor.expires_at <= now() THEN 'failed' ELSE anchor.status END AS status,
       anchor.proof, anchor.expires_at, anchor.verified_at, anchor.revoked_at, anchor.created_at
FROM anchors anchor
JOIN agents agent ON agent.id = anchor.agent_id
WHERE agent.deleted_at IS NULL;
`;

// Receipts of what ended access: who has acknowledged the news of it.

export const receipts = `
-- One for each event that ended access of an agent; its deliveries are the receivers.
CREATE TABLE receipts (
  -- events.id.
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  agent_id uuid NOT NULL,
  -- The type of the event.
  cause text NOT NULL,
  receivers integer NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  -- When the last delivery ended, as the receipt's workflow saw it first; a replay does not change it.
  completed_at timestamptz(3)
);
CREATE INDEX receipts_by_agent ON receipts (tenant_id, agent_id, id);
CREATE INDEX receipts_open ON receipts (id) WHERE completed_at IS NULL;
CREATE INDEX receipts_by_age ON receipts (created_at);
`;

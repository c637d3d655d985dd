// Rotations of agents' keys, and the outbox of workflows that own one entity each.

export const keyRotations = `
-- first_used_at: the first challenge that the key answered. A proof verifies a key and uses it not.
ALTER TABLE agent_keys ADD COLUMN first_used_at timestamptz(3);
UPDATE agent_keys SET first_used_at = coalesce(verified_at, last_used_at) WHERE last_used_at IS NOT NULL;

-- One row a rotation. What becomes of it is decided here, whether or not a workflow runs. sunset: the old key's, in agent_keys.
CREATE TABLE key_rotations (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  agent_id uuid NOT NULL REFERENCES agents,
  old_key_id uuid NOT NULL REFERENCES agent_keys ON DELETE CASCADE,
  new_key_id uuid NOT NULL CONSTRAINT key_rotations_new_key_unique UNIQUE REFERENCES agent_keys ON DELETE CASCADE,
  state text NOT NULL CHECK (state IN ('waiting_for_switch', 'overlapping', 'completed', 'canceled', 'aborted')),
  end_reason text,
  overlap_seconds integer NOT NULL CHECK (overlap_seconds > 0),
  deadline_at timestamptz(3) NOT NULL,
  switched_at timestamptz(3),
  stalled_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  ended_at timestamptz(3),
  CHECK ((ended_at IS NULL) = (state IN ('waiting_for_switch', 'overlapping'))),
  CHECK ((ended_at IS NULL) = (end_reason IS NULL))
);
CREATE INDEX key_rotations_by_agent ON key_rotations (agent_id, id);
CREATE INDEX key_rotations_by_old_key ON key_rotations (old_key_id, id);
CREATE UNIQUE INDEX key_rotations_open ON key_rotations (old_key_id) WHERE ended_at IS NULL;

-- A row asks that the entity's workflow runs and looks at the entity again. It says no more, so that repeating it does no harm.
CREATE TABLE workflow_commands (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  tenant_id uuid NOT NULL,
  workflow text NOT NULL,
  entity_id uuid NOT NULL,
  tries integer NOT NULL DEFAULT 0,
  due_at timestamptz(3) NOT NULL DEFAULT now(),
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX workflow_commands_due ON workflow_commands (due_at, id);
`;

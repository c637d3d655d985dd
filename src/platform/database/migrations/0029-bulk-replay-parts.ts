// A bulk replay keeps the ids of its deliveries. Their rows say how each of them has ended.

export const bulkReplayParts = `
-- One chunk of a bulk replay. deliveries: ids in their order, of which one is the first and one the last.
CREATE TABLE bulk_replay_parts (
  replay_id uuid NOT NULL REFERENCES bulk_replays ON DELETE CASCADE,
  first uuid NOT NULL,
  last uuid NOT NULL,
  deliveries uuid[] NOT NULL,
  PRIMARY KEY (replay_id, first)
);
`;

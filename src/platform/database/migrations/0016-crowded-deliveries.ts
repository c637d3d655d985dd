// The deliveries whose next attempt the workflow of their endpoint keeps.

export const crowdedDeliveries = `
-- A delivery that waits for an early retry and has no workflow. When the retry is due, the outbox gets a row in place of this one.
CREATE TABLE crowded_deliveries (
  delivery_id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL,
  subscription_id uuid NOT NULL,
  generation integer NOT NULL,
  -- deliveries.next_attempt_at.
  due_at timestamptz(3) NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX crowded_deliveries_due ON crowded_deliveries (subscription_id, due_at);
`;

// What became of the deliveries of the last hours, by subscription.

export const deliveryHours = `
-- A subscription's deliveries by the hour of acceptance, as they were counted last; an hour without deliveries has no row.
CREATE TABLE delivery_hours (
  tenant_id uuid NOT NULL,
  subscription_id uuid NOT NULL,
  hour timestamptz(3) NOT NULL,
  delivered integer NOT NULL,
  failed integer NOT NULL,
  canceled integer NOT NULL,
  unfinished integer NOT NULL,
  PRIMARY KEY (tenant_id, subscription_id, hour)
);
CREATE INDEX delivery_hours_by_hour ON delivery_hours (hour);

-- One row: when hours are counted next, and when all of them were counted last.
CREATE TABLE delivery_hour_counts (
  only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
  due_at timestamptz(3) NOT NULL,
  counted_at timestamptz(3) NOT NULL,
  all_counted_at timestamptz(3) NOT NULL
);
INSERT INTO delivery_hour_counts (due_at, counted_at, all_counted_at) VALUES ('-infinity', '-infinity', '-infinity');
`;

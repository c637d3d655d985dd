// What `countersign status` shows of the objectives, and when a revocation was made.

export const objectives = `
-- What one process counted on one UTC day. A process writes its whole count again, so a repeated statement counts nothing twice.
CREATE TABLE objective_counts (
  day date NOT NULL,
  process uuid NOT NULL,
  objective text NOT NULL,
  good bigint NOT NULL,
  total bigint NOT NULL,
  PRIMARY KEY (day, process, objective)
);

-- Null in rows of the former version. The default comes after the column: with it the table would be written anew.
ALTER TABLE revocations ADD COLUMN made_at timestamptz;
ALTER TABLE revocations ALTER COLUMN made_at SET DEFAULT clock_timestamp();
`;

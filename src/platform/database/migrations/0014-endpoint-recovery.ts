// What an endpoint keeps for the workflow that watches over an endpoint in trouble.

export const endpointRecovery = `
-- last_error: code of the latest failure, null after a success. watched: its workflow was told of the trouble and has not let go of it.
-- warned: warnings that were given of the outage which began at warned_for.
ALTER TABLE endpoints
  ADD COLUMN last_error text,
  ADD COLUMN watched boolean NOT NULL DEFAULT false,
  ADD COLUMN warned integer NOT NULL DEFAULT 0,
  ADD COLUMN warned_for timestamptz(3);
`;

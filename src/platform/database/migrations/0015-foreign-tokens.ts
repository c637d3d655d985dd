// What the latest fetch of another issuer's keys met, so that the tenant that set the address can read why it fails; and
// the request that used an assertion, so that the same request, sent again after a lost answer, is known.

export const foreignTokens = `
ALTER TABLE trusted_issuers ADD COLUMN fetched_at timestamptz(3), ADD COLUMN fetch_error text;
ALTER TABLE workload_issuers ADD COLUMN fetched_at timestamptz(3), ADD COLUMN fetch_error text;
ALTER TABLE client_assertions ADD COLUMN request bytea, ADD COLUMN repeats smallint NOT NULL DEFAULT 0,
  ADD COLUMN used_at timestamptz(3) NOT NULL DEFAULT now();
ALTER TABLE workload_assertions ADD COLUMN request bytea, ADD COLUMN repeats smallint NOT NULL DEFAULT 0,
  ADD COLUMN used_at timestamptz(3) NOT NULL DEFAULT now();
`;

// What the latest fetch of another issuer's keys met, so that the tenant that set the address can read why it fails.

export const issuerFetches = `
ALTER TABLE trusted_issuers ADD COLUMN fetched_at timestamptz(3), ADD COLUMN fetch_error text;
ALTER TABLE workload_issuers ADD COLUMN fetched_at timestamptz(3), ADD COLUMN fetch_error text;
`;

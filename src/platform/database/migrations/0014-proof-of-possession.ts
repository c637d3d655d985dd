// Who must prove the possession of a key: applications, agents, and whole tenants by their security profile.

export const proofOfPossession = `
ALTER TABLE tenants
  -- fapi2: every token is bound to a key, and clients authenticate with private_key_jwt.
  ADD COLUMN security_profile text NOT NULL DEFAULT 'none' CHECK (security_profile IN ('none', 'fapi2'));
-- Whether a token is issued only with a proof of a key (RFC 9449 §5.2).
ALTER TABLE applications ADD COLUMN dpop_bound_access_tokens boolean NOT NULL DEFAULT false;
ALTER TABLE agents ADD COLUMN dpop_bound_access_tokens boolean NOT NULL DEFAULT false;
`;

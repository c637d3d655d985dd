// The further aliases of bip340 keys: hex SHA-256 of the SPKI DER, then of the compressed point, of the point with an odd y.

export const keyAliases = `
CREATE INDEX agent_keys_by_odd_spki ON agent_keys (tenant_id, (aliases[3])) WHERE aliases[3] IS NOT NULL;
CREATE INDEX agent_keys_by_odd_point ON agent_keys (tenant_id, (aliases[4])) WHERE aliases[4] IS NOT NULL;
`;

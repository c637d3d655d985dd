// By which signatures a receiver verifies deliveries, and the keys of tenants that make those of them without a secret.

export const deliverySignatures = `
ALTER TABLE subscriptions ADD COLUMN signatures text[] NOT NULL DEFAULT '{service-webhook-v1,v1}';
-- The key for deliveries that lives and ends with the issuer key; null beside keys of earlier versions until it is needed.
ALTER TABLE issuer_keys
  ADD COLUMN delivery_jwk jsonb,
  -- PKCS #8 DER, sealed with a master key; kept until the issuer key is removed, and null once it is revoked.
  ADD COLUMN delivery_sealed bytea;
`;

export const deliveryKeysBySealingKey = {
  index: 'issuer_keys_by_delivery_sealing_key',
  on: 'issuer_keys (sealing_key(delivery_sealed), id) WHERE delivery_sealed IS NOT NULL',
};

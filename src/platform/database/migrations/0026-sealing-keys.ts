// Which master key each sealed secret names, so that the ids in use are found at every start, however many secrets there are.

export const sealingKeys = `
-- The id of the master key that a sealed secret names, null for what is none: version (1 byte), length of the id (1), id.
CREATE FUNCTION sealing_key(sealed bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS $function$
  SELECT CASE WHEN length(sealed) > 2 THEN substring(sealed FROM 3 FOR get_byte(sealed, 1)) END
$function$;

CREATE INDEX issuer_keys_by_sealing_key ON issuer_keys (sealing_key(private_sealed), id) WHERE private_sealed IS NOT NULL;
CREATE INDEX subscriptions_by_sealing_key ON subscriptions (sealing_key(secret_sealed), id) WHERE secret_sealed IS NOT NULL;
CREATE INDEX subscriptions_by_next_sealing_key ON subscriptions (sealing_key(next_secret_sealed), id) WHERE next_secret_sealed IS NOT NULL;
CREATE INDEX subscriptions_by_headers_sealing_key ON subscriptions (sealing_key(headers_sealed), id) WHERE headers_sealed IS NOT NULL;
`;

// The text that records the first use of keys in a statement of authentication. Pure.

/**
 * The expression `first_used`: the keys among the column `key_id` of `used` that this use is the first of. Such a use
 * also verifies the key; `is_unverified`: it was not verified before. Keys are locked in id order.
 */
export const firstUse = (used: string) => `
unused AS MATERIALIZED (
  SELECT id, verified_at IS NULL AS is_unverified FROM agent_keys
  WHERE id IN (SELECT key_id FROM ${used}) AND first_used_at IS NULL
  ORDER BY id FOR NO KEY UPDATE
), first_used AS (
  UPDATE agent_keys SET first_used_at = now(), verified_at = coalesce(verified_at, now()) FROM unused
  WHERE agent_keys.id = unused.id AND first_used_at IS NULL
  RETURNING agent_keys.id, is_unverified
)`;

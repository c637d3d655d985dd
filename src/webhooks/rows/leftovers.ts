// What a crash leaves behind, for the statements that count it and for those that mend it. Pure.

/** Unfinished deliveries `d` of deleted subscriptions. */
export const OF_DELETED = `
FROM endpoints p JOIN deliveries d ON d.subscription_id = p.subscription_id
WHERE p.deleted AND d.status IN ('pending', 'retrying')`;

/** Rows `o` of the outbox of ended deliveries of deleted subscriptions. */
export const LEFT = `
FROM endpoints p JOIN outbox o ON o.tenant_id = p.tenant_id AND o.endpoint = p.subscription_id
WHERE p.deleted AND o.claimed_by IS NULL AND o.kind <> 'command' AND NOT EXISTS (
  SELECT 1 FROM deliveries d WHERE d.id = o.delivery_id AND d.status IN ('pending', 'retrying'))`;

/** Deliveries `c` of crowds that the workflow of their endpoint lets go when they are due. */
export const CROWDED = `
FROM crowded_deliveries c JOIN endpoints p ON p.subscription_id = c.subscription_id
WHERE p.active AND NOT p.deleted AND coalesce(p.tenant_held_until <= now(), true)`;

/** Deliveries `d` that wait for an open endpoint and have no row of the outbox that would wake them. */
export const UNWOKEN = `
FROM deliveries d JOIN endpoints p ON p.subscription_id = d.subscription_id
WHERE d.waiting_epoch IS NOT NULL AND d.status IN ('pending', 'retrying') AND endpoint_is_open(p)
  AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.delivery_id = d.id AND o.kind = 'wake')`;

/** Deliveries `d` whose workflow begins their next attempt when it is due. */
export const TIMED = `
FROM deliveries d WHERE d.status IN ('pending', 'retrying') AND d.started_generation IS NOT NULL
  AND d.started_generation = d.generation`;

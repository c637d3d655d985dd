// How many subscriptions a tenant may have, where that is another number than for all.

export const subscriptionLimit = `
-- Null: the operator's.
ALTER TABLE tenants ADD COLUMN subscription_limit integer CHECK (subscription_limit > 0);
`;

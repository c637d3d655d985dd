// Wires subscriptions and their signing secrets.
import { parseNetworks } from '../../platform/egress/address-rules.ts';
import type { Platform } from '../../platform/platform.ts';
import { createSigningSecretService, type SigningSecretNeeds } from './signing-secret.service.ts';
import { createSubscriptionService, type SubscriptionNeeds } from './subscription.service.ts';
import { createSubscriptionSealing } from './subscription-sealing.service.ts';

export function wireSubscriptions(
  { config, database }: Platform,
  rooms: Omit<SubscriptionNeeds, 'database' | 'sealing' | 'admittedNetworks'> &
    Pick<SigningSecretNeeds, 'commands'>,
) {
  const sealing = createSubscriptionSealing({ masterKeys: config.masterKeys });
  const admittedNetworks = parseNetworks(config.webhookAllowedNetworks);
  const needs = { ...rooms, database, sealing, admittedNetworks };
  return {
    subscriptions: createSubscriptionService(needs),
    signingSecrets: createSigningSecretService(needs),
    sealing,
  };
}

// Wires subscriptions and their signing secrets.
import { parseNetworks } from '../../platform/egress/address-rules.ts';
import type { Platform } from '../../platform/opening/platform.ts';
import { type SigningSecretNeeds, SigningSecretService } from './signing-secret.service.ts';
import { type SubscriptionNeeds, SubscriptionService } from './subscription.service.ts';
import { SubscriptionSealing } from './subscription-sealing.service.ts';

export function wireSubscriptions(
  { config, database }: Platform,
  rooms: Omit<SubscriptionNeeds, 'database' | 'sealing' | 'admittedNetworks'> &
    Pick<SigningSecretNeeds, 'commands'>,
) {
  const sealing = new SubscriptionSealing({ masterKeys: config.masterKeys });
  const admittedNetworks = parseNetworks(config.webhookAllowedNetworks);
  const needs = { ...rooms, database, sealing, admittedNetworks };
  return {
    subscriptions: new SubscriptionService(needs),
    signingSecrets: new SigningSecretService(needs),
    sealing,
  };
}

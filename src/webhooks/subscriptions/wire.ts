// Wires subscriptions and their signing secrets.
import { parseNetworks } from '../../platform/egress/address-rules.ts';
import type { Needs, Platform } from '../../platform/platform.ts';
import { createSigningSecretRoutes } from './signing-secret.routes.ts';
import { createSigningSecretService } from './signing-secret.service.ts';
import { createSubscriptionRoutes } from './subscription.routes.ts';
import { createSubscriptionService } from './subscription.service.ts';
import { createSubscriptionSealing } from './subscription-sealing.service.ts';

export function wireSubscriptions(
  { config, database }: Platform,
  rooms: Needs<typeof createSubscriptionService, 'database' | 'sealing' | 'admittedNetworks'> &
    Needs<typeof createSigningSecretService, 'database' | 'sealing'>,
) {
  const sealing = createSubscriptionSealing({ masterKeys: config.masterKeys });
  const subscriptions = createSubscriptionService({
    ...rooms,
    database,
    sealing,
    admittedNetworks: parseNetworks(config.webhookAllowedNetworks),
  });
  const signingSecrets = createSigningSecretService({ ...rooms, database, sealing });
  return {
    subscriptions,
    signingSecrets,
    sealing,
    routes: [
      ...createSubscriptionRoutes({ subscriptions }),
      ...createSigningSecretRoutes({ signingSecrets, subscriptions }),
    ],
  };
}

export {
  countOverdue as countOverdueSecrets,
  listExpectedWorkflows as listSecretRotations,
} from './signing-secret.store.ts';
export { SEALED_SUBSCRIPTIONS } from './subscription-sealing.service.ts';

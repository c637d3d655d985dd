// The wiring of what looks at all sealed secrets: which columns hold them. Like compose.ts it must hold no rule of its own.
import type { MasterKey } from './crypto/secret-box.node.ts';
import type { Queryable } from './database/transaction.ts';
import { SEALED_ISSUER_KEYS } from './issuer/issuer-key.ts';
import { createSealedSecretService } from './master-keys/sealed-secret.service.ts';
import { createSealedSecretStore } from './master-keys/sealed-secret.store.ts';
import { SEALED_SUBSCRIPTIONS } from './webhooks/subscriptions/subscription.sealing.ts';

/** Every column that holds something sealed. */
export const SEALED_COLUMNS = [SEALED_ISSUER_KEYS, ...SEALED_SUBSCRIPTIONS];

/** Wires it over one database. */
export function composeSealedSecrets(database: Queryable, masterKeys: readonly MasterKey[]) {
  const store = createSealedSecretStore();
  return createSealedSecretService({ database, store, columns: SEALED_COLUMNS, masterKeys });
}

// The wiring of what looks at all sealed secrets: which columns hold them. Like compose.ts it must hold no rule of its own.

import { SEALED_ISSUER_KEYS } from '../../authentication/issuer/issuer-key.ts';
import { createSealedSecretService } from '../../operations/master-keys/sealed-secret.service.ts';
import type { MasterKey } from '../../platform/crypto/secret-box.node.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { SEALED_SUBSCRIPTIONS } from '../../webhooks/subscriptions/subscription-sealing.service.ts';

/** Every column that holds something sealed. */
export const SEALED_COLUMNS = [SEALED_ISSUER_KEYS, ...SEALED_SUBSCRIPTIONS];

/** Wires it over one database. */
export function composeSealedSecrets(database: Queryable, masterKeys: readonly MasterKey[]) {
  return createSealedSecretService({ database, columns: SEALED_COLUMNS, masterKeys });
}

// Wires the service that seals secrets anew.
import type { Needs, Platform } from '../../platform/platform.ts';
import { createSealedSecretService } from './sealed-secret.service.ts';

export function wireSealedSecrets(
  { config, database }: Platform,
  rooms: Needs<typeof createSealedSecretService, 'database' | 'masterKeys'>,
) {
  return createSealedSecretService({ ...rooms, database, masterKeys: config.masterKeys });
}

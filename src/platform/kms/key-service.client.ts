// What the key services have in common. A service wraps a key of 32 bytes for one purpose, and unwraps it for that
// purpose only.
// docs/decisions/0046-wrapped-keys.md
import { setTimeout as sleep } from 'node:timers/promises';
import type { VaultSettings } from '../config.ts';
import type { ServiceKey } from '../wrapped-key.ts';

/** The setting that holds the key. The service binds it to the ciphertext, so neither key passes for the other. */
export type Purpose = 'MASTER_KEY' | 'AUDIT_KEY';

/**
 * A connection to a key service. Each function makes one try and throws KeyServiceError.
 * `place`: where the service is, for messages.
 */
export type KeyService = {
  readonly name: string;
  readonly place: () => Promise<string>;
  readonly wrap: (key: string, plain: Uint8Array, purpose: Purpose) => Promise<string>;
  readonly unwrap: (key: string, ciphertext: string, purpose: Purpose) => Promise<Uint8Array>;
  readonly close: () => Promise<void>;
};

/** `isAway`: the service did not answer, or asks for patience; otherwise it has refused. */
export class KeyServiceError extends Error {
  override readonly name = 'KeyServiceError';
  readonly isAway: boolean;

  constructor(message: string, { isAway, cause }: { isAway: boolean; cause?: unknown }) {
    super(message, { cause });
    this.isAway = isAway;
  }
}

/** Milliseconds for one answer. */
export const ANSWER = 5_000;

const TRIES = 4;

/**
 * Wraps a new key for a purpose, or unwraps one.
 * @param pause milliseconds before the second try; the later ones wait longer
 * @throws KeyServiceError naming service, place and key: when the service refuses, or is away for all tries
 */
export async function askKeyService<Answer>(
  { service, key }: ServiceKey,
  settings: VaultSettings,
  ask: (opened: KeyService) => Promise<Answer>,
  pause = 500,
): Promise<Answer> {
  // A deployment without wrapped keys loads neither client.
  const opened =
    service === 'awskms'
      ? (await import('./aws-kms.client.ts')).openAwsKms()
      : (await import('./vault-transit.client.ts')).openVaultTransit(settings);
  try {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await ask(opened);
      } catch (error) {
        if (!(error instanceof KeyServiceError)) throw error;
        if (error.isAway && attempt < TRIES) await sleep(attempt * pause);
        else throw await explain(error, opened, key);
      }
    }
  } finally {
    await opened.close();
  }
}

async function explain(error: KeyServiceError, { name, place }: KeyService, key: string) {
  const where = `${name} (${await place()}, key ${key})`;
  const what = error.isAway ? `is away, asked ${TRIES} times` : 'refuses';
  return new KeyServiceError(`${where} ${what}: ${error.message}`, { isAway: error.isAway, cause: error });
}

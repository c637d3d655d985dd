// Reads the public key of a request. Error messages never repeat a refused key, because it could be a private key.
import type { KeyAlgorithm } from '../../platform/crypto/algorithm.ts';
import { type PublicKey, parsePublicKey } from '../../platform/crypto/public-key.ts';
import { PublicKeyError } from '../../platform/crypto/public-key-error.ts';
import { invalidField } from '../../platform/errors/service-error.ts';

/** `publicKey` has a form that `parsePublicKey` reads. */
export type PublicKeyInput = {
  readonly algorithm: KeyAlgorithm;
  readonly publicKey: string | Readonly<Record<string, unknown>>;
};

/** @throws ServiceError `invalid_request` naming `body.public_key` */
export function readPublicKey({ algorithm, publicKey }: PublicKeyInput): PublicKey {
  try {
    return parsePublicKey(algorithm, publicKey);
  } catch (error) {
    if (error instanceof PublicKeyError) throw invalidField('body.public_key', error.message);
    throw error;
  }
}

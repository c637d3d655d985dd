// The error of the functions that read public keys. Its message contains no part of the key.

export type PublicKeyErrorReason = 'malformed' | 'private_key' | 'wrong_algorithm' | 'invalid_point';

/** A refused public key. The message follows the name of the field: "public_key …". */
export class PublicKeyError extends Error {
  override readonly name = 'PublicKeyError';
  readonly reason: PublicKeyErrorReason;

  constructor(reason: PublicKeyErrorReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

// The one error of reading public keys. Its message holds no part of the key that was sent.

export type PublicKeyErrorReason = 'malformed' | 'private_key' | 'wrong_algorithm' | 'invalid_point';

/** A refused public key. The message completes a sentence that begins with the field's name: "public_key …". */
export class PublicKeyError extends Error {
  override readonly name = 'PublicKeyError';
  readonly reason: PublicKeyErrorReason;

  constructor(reason: PublicKeyErrorReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

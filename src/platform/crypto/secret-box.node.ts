// Seals secrets at rest with AES-256-GCM under a master key. A secret opens only in the context for which it was
// sealed. Errors contain no part of a key or of the plaintext.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** `id`: 1–255 bytes of UTF-8, written into each ciphertext. `key`: 32 bytes. */
export type MasterKey = { readonly id: string; readonly key: Uint8Array };

export type SecretBoxErrorReason = 'malformed' | 'unknown_master_key' | 'refused';

export class SecretBoxError extends Error {
  override readonly name = 'SecretBoxError';
  readonly reason: SecretBoxErrorReason;

  constructor(reason: SecretBoxErrorReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

const VERSION = 1;
const NONCE_LENGTH = 12;
const TAG_LENGTH = 16;

/**
 * Seals a secret with the first master key.
 * @param context identifies the owner of the secret, such as `issuer-key:<kid>`; `openSecret` needs the same text
 * @returns version (1 byte), length of the key id (1), key id, nonce (12), ciphertext, tag (16); header and context are
 *   additional authenticated data (NIST SP 800-38D)
 */
export function sealSecret(masterKeys: readonly MasterKey[], context: string, plaintext: Uint8Array): Buffer {
  const [masterKey] = masterKeys;
  if (masterKey === undefined)
    throw new SecretBoxError('unknown_master_key', 'there is no master key to seal with');
  const id = Buffer.from(masterKey.id, 'utf8');
  if (id.length < 1 || id.length > 255) throw new RangeError('the id of a master key has 1 to 255 bytes');
  const header = Buffer.concat([Buffer.of(VERSION, id.length), id]);
  const nonce = randomBytes(NONCE_LENGTH);
  const cipher = createCipheriv('aes-256-gcm', masterKey.key, nonce, { authTagLength: TAG_LENGTH });
  cipher.setAAD(Buffer.concat([header, Buffer.from(context, 'utf8')]));
  return Buffer.concat([header, nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
}

/**
 * Opens the bytes of `sealSecret` with the master key that they name.
 * @throws SecretBoxError `malformed`, `unknown_master_key`, or `refused` when they were changed, or sealed for another
 *   context or with another key of the same id
 */
export function openSecret(masterKeys: readonly MasterKey[], context: string, sealed: Uint8Array): Buffer {
  const { header, keyId, nonce, ciphertext, tag } = splitBox(sealed);
  const masterKey = masterKeys.find(({ id }) => id === keyId);
  if (masterKey === undefined)
    throw new SecretBoxError(
      'unknown_master_key',
      `the secret was sealed with the master key ${JSON.stringify(keyId)}`,
    );
  const decipher = createDecipheriv('aes-256-gcm', masterKey.key, nonce, { authTagLength: TAG_LENGTH });
  decipher.setAAD(Buffer.concat([header, Buffer.from(context, 'utf8')]));
  decipher.setAuthTag(tag);
  try {
    return Buffer.concat([decipher.update(ciphertext), decipher.final()]);
  } catch {
    throw new SecretBoxError(
      'refused',
      'the secret was changed, or sealed for another context or with another key',
    );
  }
}

function splitBox(sealed: Uint8Array) {
  const box = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  const idLength = box[1] ?? 0;
  const nonceStart = 2 + idLength;
  const tagStart = box.length - TAG_LENGTH;
  if (box[0] !== VERSION || idLength === 0 || tagStart < nonceStart + NONCE_LENGTH)
    throw new SecretBoxError('malformed', 'the bytes are no sealed secret of a known version');
  return {
    header: box.subarray(0, nonceStart),
    keyId: box.toString('utf8', 2, nonceStart),
    nonce: box.subarray(nonceStart, nonceStart + NONCE_LENGTH),
    ciphertext: box.subarray(nonceStart + NONCE_LENGTH, tagStart),
    tag: box.subarray(tagStart),
  };
}

// The digest of a message's content (RFC 9530).
import { equalBytes } from '@noble/curves/utils.js';
import { sha256, sha512 } from '@noble/hashes/sha2.js';
import { bytesOf, readDictionary, StructuredFieldError } from './structured-fields.ts';

const HASHES = { 'sha-256': sha256, 'sha-512': sha512 } as const;

/**
 * Checks the field `Content-Digest`. Digests of other algorithms are ignored.
 * @throws StructuredFieldError when the field is malformed, has no SHA-256 or SHA-512, or has one of another content
 */
export function checkContentDigest(field: string, content: Uint8Array): void {
  const digests = readDictionary(field);
  const known = Object.entries(HASHES).filter(([name]) => digests.has(name));
  if (known.length === 0) throw new StructuredFieldError('has neither sha-256 nor sha-512');
  for (const [name, hash] of known) {
    const digest = bytesOf(digests.get(name));
    if (digest === undefined) throw new StructuredFieldError(`has no byte sequence for ${name}`);
    if (!equalBytes(digest, hash(content)))
      throw new StructuredFieldError(`has another ${name} than the content`);
  }
}

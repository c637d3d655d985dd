// The directory of a tenant's keys for Web Bot Auth (draft-meunier-http-message-signatures-directory): which signature
// an agent hands in for its key, and how the directory shows it.
import { serializeInnerList } from 'structured-headers';
import { encodeBase64, encodeBase64Url } from '../../platform/crypto/base64.ts';
import {
  buildSignatureBase,
  componentsOf,
  readParameters,
  readSignatures,
  type SignatureFields,
} from '../../platform/crypto/message-signature.ts';
import { StructuredFieldError } from '../../platform/crypto/structured-fields.ts';

export const DIRECTORY_PATH = '/.well-known/http-message-signatures-directory';
export const DIRECTORY_TYPE = 'application/http-message-signatures-directory+json';
const TAG = 'http-message-signatures-directory';

/** The one component that a signature covers: it is good for each response of this host, with any content. */
const COVERED = '"@authority";req';

/** Most keys of a directory. Their signatures are headers, of which many proxies take 8 KiB. */
export const MOST_LISTED = 20;

/** Most characters of the components and parameters of a signature, with room for a nonce of 64 bytes. */
const LONGEST_INPUT = 320;

/** Seconds for which a signature may be valid, and by which the signer's clock may be ahead. */
const LONGEST_LIFE = 30 * 86_400;
const SKEW = 10;

/** `input` is what `Signature-Input` says of the signature, `base` the signed bytes, `expiresAt` in milliseconds. */
export type DirectorySignature = {
  readonly input: string;
  readonly base: Uint8Array;
  readonly keyId: string;
  readonly signature: string;
  readonly expiresAt: number;
};

/**
 * Reads a signature over a response of the directory.
 * @param options.authority host of the tenant's address, with its port unless that is the scheme's
 * @param options.now milliseconds since 1970
 * @throws StructuredFieldError
 */
export function readDirectorySignature(
  fields: SignatureFields,
  { authority, now }: { readonly authority: string; readonly now: number },
): DirectorySignature {
  const [found, ...more] = readSignatures(fields);
  if (found === undefined || more.length > 0) throw new StructuredFieldError('must have one signature');
  const { input, signature } = found;
  const { created, expires, keyid, tag, alg = 'ed25519' } = readParameters(input);
  const text = serializeInnerList(input);
  if (componentsOf(input).join(' ') !== COVERED)
    throw new StructuredFieldError(`must cover ${COVERED} alone`);
  if (tag !== TAG) throw new StructuredFieldError(`must have the tag ${TAG}`);
  if (alg !== 'ed25519') throw new StructuredFieldError('must have the alg ed25519, or none');
  if (keyid === undefined) throw new StructuredFieldError('lacks the parameter keyid');
  if (created === undefined || expires === undefined)
    throw new StructuredFieldError('lacks the parameter created or expires');
  const seconds = now / 1000;
  if (created > seconds + SKEW) throw new StructuredFieldError('was created in the future');
  if (expires <= seconds || expires <= created) throw new StructuredFieldError('has expired');
  if (expires > seconds + LONGEST_LIFE + SKEW)
    throw new StructuredFieldError(`must expire within ${LONGEST_LIFE / 86_400} days`);
  if (text.length > LONGEST_INPUT)
    throw new StructuredFieldError(`is longer than ${LONGEST_INPUT} characters`);
  const base = buildSignatureBase(input, () => authority);
  return {
    input: text,
    base,
    keyId: keyid,
    signature: encodeBase64Url(signature),
    expiresAt: expires * 1000,
  };
}

/** Builds the two headers of the directory's response; none without a signature. */
export function directoryHeaders(
  signatures: readonly { readonly input: string; readonly signature: Uint8Array }[],
): Record<string, string> {
  if (signatures.length === 0) return {};
  const list = (textOf: (signature: (typeof signatures)[number]) => string) =>
    signatures.map((signature, index) => `key${index + 1}=${textOf(signature)}`).join(', ');
  return {
    'signature-input': list(({ input }) => input),
    signature: list(({ signature }) => `:${encodeBase64(signature)}:`),
  };
}

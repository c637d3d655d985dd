// Verification by a signature of the request itself (RFC 9421) instead of the challenge's payload. The checks that need
// only the request are made first; those that need challenge and key are `judgeSignedRequest`.
import type { Item } from 'structured-headers';
import { encodeBase64Url } from '../../platform/crypto/base64.ts';
import { checkContentDigest } from '../../platform/crypto/content-digest.ts';
import {
  buildSignatureBase,
  componentsOf,
  type MessageSignature,
  readParameters,
  readSignatures,
  type SignatureParameters,
} from '../../platform/crypto/message-signature.ts';
import { jwkThumbprint } from '../../platform/crypto/public-key.ts';
import { StructuredFieldError } from '../../platform/crypto/structured-fields.ts';
import { invalidField, ServiceError } from '../../platform/errors/service-error.ts';
import type { Challenge, Holder, Refusal } from './challenge.ts';

/** The `tag` of a signature that is made for a verification, so that one for something else never serves here. */
export const VERIFY_TAG = 'countersign-verify';

/** The algorithm of each `alg` (RFC 9421 §6.2.2). RFC 9421 has none for es256k and bip340. */
const ALGORITHMS = { ed25519: 'ed25519', 'ecdsa-p256-sha256': 'es256' } as const;

/** Bytes of a signature of both algorithms: `R‖S`, and `r‖s` without DER (RFC 9421 §3.3.4). */
const SIGNATURE_LENGTH = 64;

/** Seconds by which `created` may be in the future. */
const SKEW = 10;

const CONTENT_DIGEST = 'content-digest';

/** A request that may be signed. `url` is its address by the settings, without a query. */
export type SignableRequest = {
  readonly method: string;
  readonly url: string;
  readonly content: string;
  /** The values of a header in lower case, as they were sent. */
  readonly headerValues: (name: string) => readonly string[];
};

/** `base` are the signed bytes, `signature` their signature in base64url. Times are Unix seconds. */
export type SignedRequest = {
  readonly base: Uint8Array;
  readonly signature: string;
  readonly algorithm: 'ed25519' | 'es256' | undefined;
  readonly keyId: string;
  readonly nonce: string;
  readonly created: number;
  readonly expires: number;
};

/**
 * Reads the signature of a request that has the tag of verifications. Other signatures are ignored.
 * @returns undefined when the request has no such signature
 * @throws ServiceError `invalid_request` naming the header; `invalid_grant` for an unknown `alg`
 */
export function readSignedRequest(request: SignableRequest): SignedRequest | undefined {
  const fieldOf = (name: string) => request.headerValues(name).join(', ');
  const fields = { signatureInput: fieldOf('signature-input'), signature: fieldOf('signature') };
  if (fields.signatureInput === '') return undefined;
  const found = refusing('signature-input', () => findTagged(readSignatures(fields)));
  if (found === undefined) return undefined;
  const { signature, parameters } = found;
  refusing('signature-input', () => checkCoverage(signature, request));
  refusing(CONTENT_DIGEST, () =>
    checkContentDigest(fieldOf(CONTENT_DIGEST), new TextEncoder().encode(request.content)),
  );
  return {
    base: refusing('signature-input', () =>
      buildSignatureBase(signature.input, (name, component) => componentValue(request, name, component)),
    ),
    signature: encodeBase64Url(signature.signature),
    algorithm: algorithmOf(parameters.alg),
    keyId: required(parameters, 'keyid'),
    nonce: required(parameters, 'nonce'),
    created: required(parameters, 'created'),
    expires: required(parameters, 'expires'),
  };
}

/**
 * Makes the checks of a signed request that need its challenge and key: algorithm, time, `nonce`, `keyid`, length.
 * @param now milliseconds since 1970
 * @returns the first refusal; undefined if none
 */
export function judgeSignedRequest(
  request: SignedRequest,
  { challenge, key, now }: { challenge: Challenge; key: Holder['key']; now: number },
): Refusal | undefined {
  const seconds = now / 1000;
  if (!Object.values<string>(ALGORITHMS).includes(challenge.algorithm))
    return {
      code: 'invalid_grant',
      detail: `RFC 9421 has no algorithm for ${challenge.algorithm}: sign the canonical payload of the challenge.`,
    };
  if (request.created > seconds + SKEW || request.expires <= seconds || request.expires <= request.created)
    return wrong(`is not valid at the time of the server, ${new Date(now).toISOString()}`);
  if (request.nonce !== challenge.nonce) return wrong("has another nonce than the challenge's");
  if (request.keyId !== jwkThumbprint({ algorithm: key.algorithm, raw: key.publicKey }))
    return wrong("has another keyid than the RFC 7638 thumbprint of the challenge's key");
  // 64 bytes in base64url without padding.
  if (request.signature.length !== Math.ceil((SIGNATURE_LENGTH * 4) / 3))
    return wrong(`is not of ${SIGNATURE_LENGTH} bytes`);
  return undefined;
}

function wrong(what: string): Refusal {
  return { code: 'invalid_signature', detail: `The signature of the request ${what}.` };
}

function findTagged(signatures: readonly MessageSignature[]) {
  const tagged = signatures.filter(({ input: [, parameters] }) => parameters.get('tag') === VERIFY_TAG);
  const [signature] = tagged;
  if (tagged.length > 1)
    throw new StructuredFieldError(`has more than one signature with the tag ${VERIFY_TAG}`);
  return signature && { signature, parameters: readParameters(signature.input) };
}

/** The signature covers method, address and content, and the DPoP proof that the tokens will be bound to. */
function checkCoverage({ input }: MessageSignature, { headerValues }: SignableRequest): void {
  const covered = new Set(componentsOf(input));
  const address = covered.has('"@target-uri"') ? [] : ['@authority', '@path'];
  const proof = headerValues('dpop').length === 0 ? [] : ['dpop'];
  for (const name of ['@method', ...address, CONTENT_DIGEST, ...proof])
    if (!covered.has(`"${name}"`)) throw new StructuredFieldError(`does not cover "${name}"`);
}

/** Returns the value of a component of this request (RFC 9421 §2.1, §2.2); none of one with parameters. */
function componentValue(
  { method, url, headerValues }: SignableRequest,
  name: string,
  [, parameters]: Item,
): string | undefined {
  if (parameters.size > 0) return undefined;
  const { href, host, pathname, protocol } = new URL(url);
  const derived: Readonly<Record<string, string>> = {
    '@method': method,
    '@target-uri': href,
    '@authority': host,
    '@path': pathname,
    '@scheme': protocol.slice(0, -1),
  };
  if (name.startsWith('@')) return Object.hasOwn(derived, name) ? derived[name] : undefined;
  const values = name === name.toLowerCase() ? headerValues(name) : [];
  return values.length === 0 ? undefined : values.map((value) => value.trim()).join(', ');
}

function algorithmOf(alg: string | undefined): SignedRequest['algorithm'] {
  if (alg === undefined) return undefined;
  if (Object.hasOwn(ALGORITHMS, alg)) return ALGORITHMS[alg as keyof typeof ALGORITHMS];
  throw new ServiceError('invalid_grant', {
    detail: `The alg of a signed request must be ${Object.keys(ALGORITHMS).join(' or ')}.`,
  });
}

function required<Name extends keyof SignatureParameters>(
  parameters: SignatureParameters,
  name: Name,
): NonNullable<SignatureParameters[Name]> {
  const value = parameters[name];
  if (value === undefined) throw invalidField('header.signature-input', `lacks the parameter ${name}`);
  return value;
}

/** Makes a fault of a structured field a refusal that names the header. */
function refusing<Result>(header: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (error instanceof StructuredFieldError) throw invalidField(`header.${header}`, error.message);
    throw error;
  }
}

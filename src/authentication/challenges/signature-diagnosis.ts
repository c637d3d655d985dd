// Says what is wrong with a signature over a challenge. Nothing in the payload is secret: the agent has all of it.
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import type { KeyAlgorithm } from '../../platform/crypto/algorithm.ts';
import { decodeBase64 } from '../../platform/crypto/base64.ts';
import { decodeSignature } from '../../platform/crypto/signature.ts';

type Signed = { readonly payload: Uint8Array; readonly nonce: string };

/** What is signed by mistake, and how the answer names it. */
const MISTAKES: readonly (readonly [name: string, bytes: (signed: Signed) => Uint8Array])[] = [
  ['the payload with a line feed at its end', ({ payload }) => Uint8Array.from([...payload, 0x0a])],
  ['the payload with CRLF between its lines', ({ payload }) => withLineEnds(payload, '\r\n')],
  ['the nonce alone', ({ nonce }) => utf8ToBytes(nonce)],
  ['the 32 bytes of the nonce alone', ({ nonce }) => hexToBytes(nonce)],
  ['the SHA-256 of the payload', ({ payload }) => sha256(payload)],
  ['the SHA-256 of the payload in hex', ({ payload }) => utf8ToBytes(bytesToHex(sha256(payload)))],
];

const HEX = /^(?:0x)?[0-9a-f]{128,144}$/i;

/**
 * Describes a signature that was refused, for the agent's author. At most six verifications.
 * @param options.payload the bytes that were to be signed; `nonce` of the challenge, 64 hex digits
 * @param options.isOver verifies the signature over other bytes
 * @returns one sentence with length and SHA-256 of the payload, and the mistake where it is a known one
 */
export async function diagnoseSignature({
  algorithm,
  signature,
  isOver,
  ...signed
}: Signed & {
  readonly algorithm: KeyAlgorithm;
  readonly signature: string;
  readonly isOver: (bytes: Uint8Array) => Promise<boolean>;
}): Promise<string> {
  const { payload } = signed;
  const expected = `the challenge's canonical payload (${payload.length} bytes, SHA-256 ${bytesToHex(sha256(payload))})`;
  const malformed = faultOfForm(algorithm, signature);
  if (malformed !== undefined) return `${malformed} It signs ${expected}.`;
  for (const [name, bytes] of MISTAKES)
    if (await isOver(bytes(signed))) return `The key has signed ${name}, but is to sign ${expected}.`;
  return `The signature is not the key's over ${expected}.`;
}

/** @returns undefined for a signature that the algorithm can verify */
function faultOfForm(algorithm: KeyAlgorithm, signature: string): string | undefined {
  if (HEX.test(signature)) return 'The signature is in hex: send it in base64.';
  if (decodeSignature(algorithm, signature) !== null) return undefined;
  const bytes = decodeBase64(signature.replaceAll(/[\t\n\r ]/g, ''));
  if (bytes === null) return 'The signature is not in base64.';
  if (HEX.test(new TextDecoder('latin1').decode(bytes).trim()))
    return 'The signature is hex in base64: send its bytes themselves in base64.';
  if (bytes.length === 65 && algorithm.startsWith('es'))
    return 'The signature has 65 bytes: of r, s and a recovery id send the 64 bytes of r and s alone.';
  const forms =
    algorithm === 'es256' || algorithm === 'es256k' ? '64 bytes (r, s) or strict DER' : '64 bytes';
  if (bytes.length === 64) return `The 64 bytes of the signature cannot be a signature of ${algorithm}.`;
  return `The signature has ${bytes.length} bytes, and a signature of ${algorithm} has ${forms}.`;
}

const withLineEnds = (payload: Uint8Array, end: string) =>
  utf8ToBytes(new TextDecoder().decode(payload).replaceAll('\n', end));

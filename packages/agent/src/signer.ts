// What an agent signs with: a key of its own, or a callback to a vault or a key management service that never gives it
// out.

import { AgentError } from './agent-error.ts';
import { encodeBase64Url, encodeHex, encodeText, sha256 } from './bytes.ts';

/** The algorithms of agents' keys, as the service spells them. */
export type KeyAlgorithm = 'ed25519' | 'es256' | 'es256k' | 'bip340';

/**
 * Signs for an agent. `sign` gets the message itself: ed25519 signs it, es256 and es256k sign its SHA-256, bip340 takes
 * its SHA-256 as the message. An ECDSA signature may be `r‖s` or DER, as most key management services give it.
 */
export type Signer = {
  readonly algorithm: KeyAlgorithm;
  /** ed25519: 32 bytes; es256, es256k: the 65 bytes of the uncompressed point; bip340: the 32 bytes of x. */
  readonly publicKey: Uint8Array;
  sign(message: Uint8Array): Uint8Array | Promise<Uint8Array>;
};

/** A signer with what the service and DPoP proofs need to know of its key. */
export type AgentKey = {
  readonly algorithm: KeyAlgorithm;
  readonly publicKey: Uint8Array;
  /** SHA-256 of the public key's raw bytes in lowercase hex: the name of the key in a challenge. */
  readonly fingerprint: string;
  /** A signature of 64 bytes. */
  sign(message: Uint8Array): Promise<Uint8Array>;
  /** `alg` and `jwk` of DPoP proofs; undefined for es256k and bip340, which have none. */
  readonly proof:
    | { readonly alg: 'EdDSA' | 'ES256'; readonly jwk: Readonly<Record<string, string>> }
    | undefined;
};

const KEY_BYTES: Readonly<Record<KeyAlgorithm, number>> = { ed25519: 32, es256: 65, es256k: 65, bip340: 32 };

/** @throws {AgentError} `invalid_key` when the public key is not the raw key of its algorithm */
export async function describeSigner(signer: Signer): Promise<AgentKey> {
  const { algorithm, publicKey } = signer;
  const length = KEY_BYTES[algorithm];
  if (publicKey.length !== length || (length === 65 && publicKey[0] !== 4)) {
    throw new AgentError('invalid_key', `The public key of ${algorithm} must have ${length} raw bytes.`);
  }
  return {
    ...{ algorithm, publicKey, proof: proofOf(signer) },
    fingerprint: encodeHex(await sha256(publicKey)),
    sign: async (message) => compact(await signer.sign(message)),
  };
}

function proofOf({ algorithm, publicKey }: Signer): AgentKey['proof'] {
  if (algorithm === 'ed25519') {
    return { alg: 'EdDSA', jwk: { kty: 'OKP', crv: 'Ed25519', x: encodeBase64Url(publicKey) } };
  }
  if (algorithm !== 'es256') return undefined;
  const [x, y] = [publicKey.subarray(1, 33), publicKey.subarray(33)].map(encodeBase64Url);
  return { alg: 'ES256', jwk: { kty: 'EC', crv: 'P-256', x: x ?? '', y: y ?? '' } };
}

/** Brings a DER signature (SEQUENCE of two INTEGERs) to `r‖s`. */
function compact(signature: Uint8Array): Uint8Array {
  if (signature.length === 64) return signature;
  const bytes = new Uint8Array(64);
  let offset = 2;
  for (const end of [32, 64]) {
    const length = signature[offset + 1] ?? 0;
    const value = signature.subarray(offset + 2, offset + 2 + length);
    const digits = value[0] === 0 ? value.subarray(1) : value;
    if (signature[0] !== 0x30 || signature[offset] !== 2 || digits.length === 0 || digits.length > 32) {
      throw new AgentError('invalid_key', 'sign() gave neither 64 bytes nor a DER signature.');
    }
    bytes.set(digits, end - digits.length);
    offset += 2 + length;
  }
  return bytes;
}

/** Signs a compact JWS. */
export async function signJws(key: AgentKey, header: object, payload: object): Promise<string> {
  const text = [header, payload].map((part) => encodeBase64Url(encodeText(JSON.stringify(part)))).join('.');
  return `${text}.${encodeBase64Url(await key.sign(encodeText(text)))}`;
}

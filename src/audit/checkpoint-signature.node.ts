// Signs checkpoints, seals and heads with Ed25519 keys that are derived from the audit keys. The private keys are
// never stored. These keys are not issuer keys.
import { createPrivateKey, createPublicKey, hash, hkdfSync, type KeyObject, sign, verify } from 'node:crypto';
import { thumbprintOf } from '../platform/crypto/jwk.ts';
import { type Head, headStatement, type Signature } from './checkpoint.ts';
import { sha256 } from './merkle.node.ts';

/** 32 bytes of the setting AUDIT_KEY. */
export type AuditKey = { readonly key: Uint8Array };

/** The `info` of the key derivation. Each purpose gives a different key (RFC 5869 §3.2). */
const PURPOSE = 'countersign audit checkpoint Ed25519 v1';

/** The bytes that precede the 32 bytes of an Ed25519 key in PKCS #8 and in SPKI (RFC 8410). */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');

export const hashText = (text: string): Uint8Array => Buffer.from(hash('sha256', text, 'hex'), 'hex');

/** Hashes the list of a checkpoint's rows, for its `sealedForm`. */
export const hashList = ({
  rowIds,
  leaves,
}: {
  readonly rowIds: readonly string[];
  readonly leaves: Uint8Array;
}): Uint8Array[] => [hashText(rowIds.join('\n')), sha256(leaves)];

/** @returns a public key as a JWK (RFC 8037); `kid` is its RFC 7638 thumbprint @param publicKey 32 bytes */
export function toAuditJwk(publicKey: Uint8Array) {
  const x = Buffer.from(publicKey).toString('base64url');
  const key = { kty: 'OKP', crv: 'Ed25519', x } as const;
  return { ...key, kid: thumbprintOf(key), alg: 'EdDSA', use: 'sig' } as const;
}

/** @param auditKeys the key derived from the first one signs; signatures by the keys of all of them are trusted */
export function createCheckpointSigner({ auditKeys }: { auditKeys: readonly AuditKey[] }) {
  const derived = auditKeys.map(({ key }) => derive(key));
  const [current] = derived;
  if (current === undefined) throw new Error('an audit key is required to sign checkpoints');
  const trusted = new Map(derived.map(({ keyId, publicKey }) => [keyId, loadPublicKey(publicKey)]));
  return {
    keyId: current.keyId,
    /** 32 bytes. */
    publicKey: current.publicKey,

    /** @returns 64 bytes, the signature of the text in UTF-8 */
    sign: (text: string): Uint8Array => sign(null, Buffer.from(text), current.privateKey),

    /** Returns true when one of the current keys has signed the text. */
    isSigned: (text: string, signature: Uint8Array): boolean =>
      [...trusted.values()].some((key) => verify(null, Buffer.from(text), key, signature)),

    /** Returns true when the key is derived from one of the current audit keys. */
    isTrusted: (keyId: string): boolean => trusted.has(keyId),

    /**
     * Verifies a signature by a current key or by an earlier key. The id of an earlier key must match its public key.
     * @param known public keys of earlier keys, by key id
     */
    verify(
      text: string,
      { keyId, bytes }: { keyId: string; bytes: Uint8Array },
      known: ReadonlyMap<string, Uint8Array>,
    ): boolean {
      const key = trusted.get(keyId);
      return key === undefined
        ? verifyByKnown(text, { keyId, bytes }, known)
        : verify(null, Buffer.from(text), key, bytes);
    },
  };
}

export type CheckpointSigner = ReturnType<typeof createCheckpointSigner>;

/** Verifies a signature by one of these keys, whose id has to match. @param known public keys, by key id */
export function verifyByKnown(
  text: string,
  { keyId, bytes }: { keyId: string; bytes: Uint8Array },
  known: ReadonlyMap<string, Uint8Array>,
): boolean {
  const key = publicKeyOf(keyId, known.get(keyId));
  return key !== undefined && verify(null, Buffer.from(text), key, bytes);
}

/**
 * Returns why a head is not to be believed, or undefined. A present audit key signs the head, and the head's hash
 * covers all seals, or the beginning of the log before the first one.
 */
export function faultOfHead(
  { signature, lastSeal, ...head }: Head & { signature: Signature | null; lastSeal: number },
  signer: CheckpointSigner,
): string | undefined {
  if (signature === null) return 'it is not signed';
  const { keyId } = signature;
  if (!signer.isTrusted(keyId))
    return `it is signed with the key ${keyId}, which belongs to none of the audit keys`;
  if (!signer.verify(headStatement(head, keyId), signature, new Map())) return 'its signature is wrong';
  return lastSeal > head.n ? `it does not reach seal ${head.n + 1}` : undefined;
}

function derive(auditKey: Uint8Array) {
  const seed = Buffer.from(hkdfSync('sha256', auditKey, new Uint8Array(), PURPOSE, 32));
  const privateKey = createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' });
  const spki = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  const publicKey = new Uint8Array(spki.subarray(SPKI.length));
  return { privateKey, publicKey, keyId: toAuditJwk(publicKey).kid };
}

function publicKeyOf(keyId: string, publicKey: Uint8Array | undefined): KeyObject | undefined {
  if (publicKey?.length !== 32 || toAuditJwk(publicKey).kid !== keyId) return undefined;
  return loadPublicKey(publicKey);
}

function loadPublicKey(publicKey: Uint8Array): KeyObject {
  return createPublicKey({ key: Buffer.concat([SPKI, publicKey]), format: 'der', type: 'spki' });
}

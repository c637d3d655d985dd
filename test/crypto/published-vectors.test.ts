// Runs the published vector files that are there: Wycheproof (C2SP/wycheproof, testvectors_v1) and BIP 340's. They are not kept
// in this repository: put them into test/crypto/vectors, or name their folder in CRYPTO_VECTORS; a missing file is skipped.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { KeyAlgorithm } from '../../src/crypto/algorithm.ts';
import { encodeBase64 } from '../../src/crypto/base64.ts';
import { fingerprint, isCanonicalPublicKey, parsePublicKey } from '../../src/crypto/public-key.ts';
import { createSignatureVerifier } from '../../src/crypto/verify-signature.node.ts';
import { verifyBip340, verifySignaturePortable } from '../../src/crypto/verify-signature-portable.ts';

type Vector = { tcId: number; comment: string; msg: string; sig: string; result: 'valid' | 'invalid' };
type Group = {
  publicKey: { pk?: string; uncompressed?: string };
  publicKeyDer: string;
  publicKeyPem: string;
  publicKeyJwk?: Record<string, unknown>;
  tests: Vector[];
};

const FOLDER = process.env.CRYPTO_VECTORS ?? join(import.meta.dirname, 'vectors');

const FILES: readonly (readonly [file: string, algorithm: KeyAlgorithm])[] = [
  ['ed25519_test.json', 'ed25519'],
  ['ecdsa_secp256r1_sha256_test.json', 'es256'],
  ['ecdsa_secp256r1_sha256_p1363_test.json', 'es256'],
  ['ecdsa_secp256k1_sha256_test.json', 'es256k'],
  ['ecdsa_secp256k1_sha256_p1363_test.json', 'es256k'],
];

const bytes = (hex: string) => Uint8Array.from(Buffer.from(hex, 'hex'));
const verifier = createSignatureVerifier({ schnorrThreads: 0 });
afterAll(() => verifier.close());

describe.each(FILES)('%s', (file, algorithm) => {
  const path = join(FOLDER, file);
  const groups: Group[] = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).testGroups : [];

  it.skipIf(groups.length === 0)(
    'is decided as published, by both verifiers',
    { timeout: 60_000 },
    async () => {
      const mismatches: string[] = [];
      for (const group of groups) {
        const publicKey = bytes(group.publicKey.pk ?? group.publicKey.uncompressed ?? '');
        for (const { tcId, comment, msg, sig, result } of group.tests) {
          const input = { algorithm, publicKey, payload: bytes(msg), signature: encodeBase64(bytes(sig)) };
          const decided = [await verifier.verifySignature(input), verifySignaturePortable(input)];
          if (decided.some((isValid) => isValid !== (result === 'valid'))) {
            mismatches.push(`${tcId} (${comment}): ${result}, decided ${decided.join(' and ')}`);
          }
        }
      }
      expect(mismatches).toEqual([]);
    },
  );

  it.skipIf(groups.length === 0)('gives each key one fingerprint in every form', () => {
    for (const { publicKey, publicKeyDer, publicKeyPem, publicKeyJwk } of groups) {
      const raw = publicKey.pk ?? publicKey.uncompressed ?? '';
      const forms = [raw, publicKeyPem, encodeBase64(bytes(publicKeyDer)), publicKeyJwk ?? raw];
      const found = forms.map((form) => fingerprint(parsePublicKey(algorithm, form).raw));
      expect(new Set(found)).toEqual(new Set([fingerprint(bytes(raw))]));
    }
  });
});

describe('bip-0340.csv', () => {
  const path = join(FOLDER, 'bip-0340.csv');
  const rows = existsSync(path) ? readFileSync(path, 'utf8').trim().split(/\r?\n/).slice(1) : [];

  it.skipIf(rows.length === 0)('is decided as published', () => {
    const mismatches = rows.filter((row) => {
      const [, , publicKey = '', , message = '', signature = '', result] = row.split(',');
      const isAccepted =
        isCanonicalPublicKey('bip340', bytes(publicKey)) &&
        verifyBip340(bytes(signature), bytes(message), bytes(publicKey));
      return isAccepted !== (result === 'TRUE');
    });
    expect(mismatches).toEqual([]);
  });
});

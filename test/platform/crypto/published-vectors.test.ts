// Published test vectors, all of them, through the function that verification uses and through the one for browsers.
// Their sources and licences are in vectors/README.md. No case may be left out: the counts are those of the publishers.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { KeyAlgorithm } from '../../../src/platform/crypto/algorithm.ts';
import { encodeBase64 } from '../../../src/platform/crypto/base64.ts';
import { fingerprint, fingerprintAliases, parsePublicKey } from '../../../src/platform/crypto/public-key.ts';
import {
  createSignatureVerifier,
  type SignatureInput,
  type SignatureVerifier,
} from '../../../src/platform/crypto/verify-signature.node.ts';
import { verifySignaturePortable } from './verify-signature-portable.ts';

type Case = { tcId: number; comment: string; msg: string; sig: string; result: 'valid' | 'invalid' };
type Key = { raw: string; der: string; jwk?: Record<string, unknown> };
type WycheproofFile = { numberOfTests: number; groups: { key: Key; tests: Case[] }[] };
type Bip340File = { numberOfTests: number; tests: (Case & { key: string })[] };

/** The number of cases is the publisher's, and how many of them are valid. */
const FILES: readonly (readonly [file: string, algorithm: KeyAlgorithm, cases: number, valid: number])[] = [
  ['ed25519_test.json', 'ed25519', 151, 88],
  ['ecdsa_secp256r1_sha256_test.json', 'es256', 484, 174],
  ['ecdsa_secp256r1_sha256_p1363_test.json', 'es256', 262, 173],
  ['ecdsa_secp256k1_sha256_test.json', 'es256k', 476, 168],
  ['ecdsa_secp256k1_sha256_p1363_test.json', 'es256k', 252, 167],
];

const bytes = (hex: string) => Uint8Array.from(Buffer.from(hex, 'hex'));
const read = (file: string) =>
  JSON.parse(readFileSync(join(import.meta.dirname, 'vectors', file), 'utf8')) as unknown;

const verifier = createSignatureVerifier({ schnorrThreads: 0 });
const threaded = createSignatureVerifier({ schnorrThreads: 1 });
afterAll(() => Promise.all([verifier.close(), threaded.close()]));

/** What both functions say of each case, by its number, when any of them says something else than its publisher. */
async function findMismatches(
  cases: readonly (Case & { input: SignatureInput })[],
  verifiers: readonly SignatureVerifier[] = [verifier],
): Promise<string[]> {
  const mismatches: string[] = [];
  for (const { tcId, comment, result, input } of cases) {
    const decided = [verifySignaturePortable(input)];
    for (const { verifySignature } of verifiers) decided.push(await verifySignature(input));
    if (decided.some((isValid) => isValid !== (result === 'valid')))
      mismatches.push(`${tcId} (${comment}): ${result}, decided ${decided.join(' and ')}`);
  }
  return mismatches;
}

const countValid = (cases: readonly Case[]) => cases.filter(({ result }) => result === 'valid').length;

describe.each(FILES)('Wycheproof, %s', (file, algorithm, count, valid) => {
  const { groups, numberOfTests } = read(file) as WycheproofFile;
  const cases = groups.flatMap(({ key, tests }) =>
    tests.map((test) => ({
      ...test,
      input: {
        algorithm,
        publicKey: bytes(key.raw),
        payload: bytes(test.msg),
        signature: encodeBase64(bytes(test.sig)),
      },
    })),
  );

  it('is complete', () => {
    expect([numberOfTests, cases.length, countValid(cases)]).toEqual([count, count, valid]);
    expect(new Set(cases.map(({ tcId }) => tcId)).size).toBe(count);
  });

  it('is decided as published', async () => {
    expect(await findMismatches(cases)).toEqual([]);
  });

  it('gives each of its keys one fingerprint in every form', () => {
    for (const { key } of groups) {
      const der = Buffer.from(key.der, 'hex').toString('base64');
      const pem = `-----BEGIN PUBLIC KEY-----\n${der}\n-----END PUBLIC KEY-----\n`;
      const parsed = [key.raw, der, pem, key.jwk ?? key.raw].map((form) => parsePublicKey(algorithm, form));
      expect(new Set(parsed.map(({ raw }) => fingerprint(raw)))).toEqual(
        new Set([fingerprint(bytes(key.raw))]),
      );
      for (const one of parsed)
        expect(fingerprintAliases(one)[0]).toBe(fingerprint(Buffer.from(key.der, 'hex')));
    }
  });
});

describe("BIP 340's own vectors", () => {
  const { tests, numberOfTests } = read('bip340_test.json') as Bip340File;
  const cases = tests.map((test) => ({
    ...test,
    input: {
      algorithm: 'bip340',
      publicKey: bytes(test.key),
      payload: bytes(test.msg),
      signature: encodeBase64(bytes(test.sig)),
    } as const,
  }));

  it('are complete', () => {
    expect([numberOfTests, cases.length, countValid(cases)]).toEqual([19, 19, 9]);
    expect(cases.map(({ tcId }) => tcId)).toEqual(Array.from({ length: 19 }, (_, index) => index));
  });

  it('are decided as published, on the calling thread and on a worker thread', async () => {
    expect(await findMismatches(cases, [verifier, threaded])).toEqual([]);
  });

  it.each([5, 14])('refuse the key of number %d at its registration too', (number) => {
    expect(() => parsePublicKey('bip340', cases[number]?.key ?? '')).toThrow(/is not a point on the curve/);
  });
});

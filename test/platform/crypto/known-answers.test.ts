// Known answers from the standards' own texts: what is signed and verified here is what everybody else signs and
// verifies.
import { createHash } from 'node:crypto';
import { schnorr } from '@noble/curves/secp256k1.js';
import { afterAll, describe, expect, it } from 'vitest';
import type { KeyAlgorithm } from '../../../src/platform/crypto/algorithm.ts';
import { encodeBase64 } from '../../../src/platform/crypto/base64.ts';
import { createSignatureVerifier } from '../../../src/platform/crypto/verify-signature.node.ts';
import { derivePublicKey, signPayload } from './sign.ts';
import { verifySignaturePortable } from './verify-signature-portable.ts';

const bytes = (hex: string) => Uint8Array.from(Buffer.from(hex, 'hex'));
const hex = (data: Uint8Array) => Buffer.from(data).toString('hex');
const text = (content: string) => new TextEncoder().encode(content);

const verifier = createSignatureVerifier({ schnorrThreads: 0 });
afterAll(() => verifier.close());

async function decide(
  algorithm: KeyAlgorithm,
  publicKey: Uint8Array,
  payload: Uint8Array,
  signature: Uint8Array,
) {
  const input = { algorithm, publicKey, payload, signature: encodeBase64(signature) };
  return [await verifier.verifySignature(input), verifySignaturePortable(input)];
}

/** RFC 8032 §7.1: tests 1, 2, 3 and SHA(abc). */
const RFC_8032 = [
  {
    secret: '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60',
    key: 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    message: '',
    signature:
      'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155' +
      '5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
  },
  {
    secret: '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb',
    key: '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
    message: '72',
    signature:
      '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da' +
      '085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
  },
  {
    secret: 'c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7',
    key: 'fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025',
    message: 'af82',
    signature:
      '6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac' +
      '18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a',
  },
  {
    secret: '833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42',
    key: 'ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf',
    message: createHash('sha512').update('abc').digest('hex'),
    signature:
      'dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b589' +
      '09351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704',
  },
];

/** RFC 6979 §A.2.5 with SHA-256 (the first has a high S), and secp256k1's widely used one for the private key 1. */
const ECDSA = [
  {
    algorithm: 'es256',
    secret: 'c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721',
    message: 'sample',
    signature:
      'efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716' +
      'f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8',
  },
  {
    algorithm: 'es256',
    secret: 'c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721',
    message: 'test',
    signature:
      'f1abb023518351cd71d881567b1ea663ed3efcf6c5132b354f28d3b0b7d38367' +
      '019f4113742a2b14bd25926b49c649155f267e60d3814b4c0cc84250e46f0083',
  },
  {
    algorithm: 'es256k',
    secret: '0000000000000000000000000000000000000000000000000000000000000001',
    message: 'Satoshi Nakamoto',
    signature:
      '934b1ea10a4b3c1757e2b0c017d0b6143ce3c9a7e6a4a49860d7a6ab210ee3d8' +
      '2442ce9d2b916064108014783e923ec36b49743e2ffa1c4496f01a512aafd9e5',
  },
] as const;

/** BIP 340, test vectors 0 and 1. */
const BIP_340 = [
  {
    secret: '0000000000000000000000000000000000000000000000000000000000000003',
    key: 'f9308a019258c31049344f85f89d5229b531c845836f99b08601f113bce036f9',
    random: '0000000000000000000000000000000000000000000000000000000000000000',
    message: '0000000000000000000000000000000000000000000000000000000000000000',
    signature:
      'e907831f80848d1069a5371b402410364bdf1c5f8307b0084c55f1ce2dca8215' +
      '25f66a4a85ea8b71e482a74f382d2ce5ebeee8fdb2172f477df4900d310536c0',
  },
  {
    secret: 'b7e151628aed2a6abf7158809cf4f3c762e7160f38b4da56a784d9045190cfef',
    key: 'dff1d77f2a671c5f36183726db2341be58feae1da2deced843240f7b502ba659',
    random: '0000000000000000000000000000000000000000000000000000000000000001',
    message: '243f6a8885a308d313198a2e03707344a4093822299f31d0082efa98ec4e6c89',
    signature:
      '6896bd60eeae296db48a229ff71dfe071bde413e6d43f917dc8dcf8c78de3341' +
      '8906d11ac976abccb20b091292bff4ea897efcb639ea871cfa95f6de339e4b0a',
  },
];

describe('known answers', () => {
  it.each(RFC_8032)('signs and verifies ed25519 as RFC 8032 §7.1 does ($message)', async (vector) => {
    const { raw } = derivePublicKey('ed25519', bytes(vector.secret));
    expect(hex(raw)).toBe(vector.key);
    const signature = signPayload('ed25519', bytes(vector.secret), bytes(vector.message));
    expect(signature).toBe(encodeBase64(bytes(vector.signature)));
    const decided = await decide('ed25519', raw, bytes(vector.message), bytes(vector.signature));
    expect(decided).toEqual([true, true]);
  });

  it.each(ECDSA)('verifies $algorithm over "$message"', async ({ algorithm, secret, message, signature }) => {
    const { raw } = derivePublicKey(algorithm, bytes(secret));
    expect(await decide(algorithm, raw, text(message), bytes(signature))).toEqual([true, true]);
    expect(await decide(algorithm, raw, text(`${message}.`), bytes(signature))).toEqual([false, false]);
  });

  it.each(BIP_340)('verifies BIP 340 over the payload itself ($key)', async (vector) => {
    const { raw } = derivePublicKey('bip340', bytes(vector.secret));
    expect(hex(raw)).toBe(vector.key);
    const signature = schnorr.sign(bytes(vector.message), bytes(vector.secret), bytes(vector.random));
    expect(hex(signature)).toBe(vector.signature);
    expect(await decide('bip340', raw, bytes(vector.message), signature)).toEqual([true, true]);
    expect(await decide('bip340', raw, bytes(`${vector.message}00`), signature)).toEqual([false, false]);
  });

  it('verifies BIP 340 over the SHA-256 of the payload', async () => {
    const secret = bytes(BIP_340[1]?.secret ?? '');
    const { raw } = derivePublicKey('bip340', secret);
    const signature = schnorr.sign(createHash('sha256').update('payload').digest(), secret);
    expect(await decide('bip340', raw, text('payload'), signature)).toEqual([true, true]);
  });
});

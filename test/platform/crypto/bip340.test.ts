// The verifier of BIP 340 against that of noble: for one message and several, before and after a key has its table.
import { schnorr } from '@noble/curves/secp256k1.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createBip340Verifier } from '../../../src/platform/crypto/bip340.node.ts';

const MESSAGES = ['hash', 'payload', 'third'].map((text) => new TextEncoder().encode(text));

const flip = (bytes: Uint8Array, bit: number) =>
  bytes.with(bit >> 3, (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7)));

describe('a BIP 340 signature', () => {
  it.each([
    ['rarely', 0],
    ['often', 8],
  ])('is judged as by noble, whichever message it is over, of a key that came %s', (_often, times) => {
    const { secretKey, publicKey } = schnorr.keygen();
    const often = createBip340Verifier(schnorr);
    for (let time = 0; time < times; time += 1)
      expect(often(new Uint8Array(64).fill(1), MESSAGES, publicKey)).toBe(false);
    const change = fc.record({
      over: fc.nat(2),
      tried: fc.uniqueArray(fc.nat(2)),
      signatureBit: fc.option(fc.nat(511), { freq: 1 }),
      keyBit: fc.option(fc.nat(255), { freq: 1 }),
    });
    fc.assert(
      fc.property(change, ({ over, tried, signatureBit, keyBit }) => {
        const verify = times === 0 ? createBip340Verifier(schnorr) : often;
        const valid = schnorr.sign(MESSAGES[over] ?? new Uint8Array(), secretKey);
        const signature = signatureBit === null ? valid : flip(valid, signatureBit);
        const key = keyBit === null ? publicKey : flip(publicKey, keyBit);
        const messages = tried.map((index) => MESSAGES[index] ?? new Uint8Array());
        expect(verify(signature, messages, key)).toBe(
          messages.some((message) => schnorr.verify(signature, message, key)),
        );
      }),
      { numRuns: 30 },
    );
  });

  it('is judged alike when more keys come than are kept', () => {
    const verify = createBip340Verifier(schnorr);
    const [message = new Uint8Array()] = MESSAGES;
    const signed = Array.from({ length: 34 }, () => {
      const { secretKey, publicKey } = schnorr.keygen();
      return { publicKey, signature: schnorr.sign(message, secretKey) };
    });
    for (const { signature, publicKey } of [...signed, ...signed.slice(0, 1)])
      expect(verify(signature, [message], publicKey)).toBe(true);
  });
});

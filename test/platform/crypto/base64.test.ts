import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeBase64, encodeBase64, encodeBase64Url } from '../../../src/platform/crypto/base64.ts';

describe('base64', () => {
  it('encodes as Node.js does', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(encodeBase64(bytes)).toBe(Buffer.from(bytes).toString('base64'));
        expect(encodeBase64Url(bytes)).toBe(Buffer.from(bytes).toString('base64url'));
      }),
    );
  });

  it('decodes both alphabets, with and without padding', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const padded = encodeBase64(bytes);
        for (const text of [padded, padded.replace(/=+$/, ''), encodeBase64Url(bytes)]) {
          expect(decodeBase64(text)).toEqual(bytes);
        }
      }),
    );
  });

  it('reads no text that it would not write', () => {
    const almostBase64 = fc.string({
      unit: fc.constantFrom('A', 'B', 'g', 'w', '/', '+', '-', '_', '=', ' '),
      maxLength: 9,
    });
    fc.assert(
      fc.property(almostBase64, (text) => {
        const bytes = decodeBase64(text);
        if (bytes === null) return;
        const url = encodeBase64Url(bytes);
        const standard = encodeBase64(bytes);
        const padding = standard.slice(standard.replace(/=+$/, '').length);
        expect([standard, standard.replace(/=+$/, ''), url, url + padding]).toContain(text);
      }),
      { numRuns: 2000 },
    );
  });

  it.each(['A', 'AAAAA', 'AA=', 'AAA==', 'A===', '====', '=', 'AB==', 'AAB=', '+_AA', 'AA\n', 'é'])(
    'refuses %j',
    (text) => {
      expect(decodeBase64(text)).toBeNull();
    },
  );
});

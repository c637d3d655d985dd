// The forms of a signature: base64, `r‖s`, DER. What has no such form, to the byte, is refused before any verification.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KEY_ALGORITHMS } from '../../../src/platform/crypto/algorithm.ts';
import { encodeBase64, encodeBase64Url } from '../../../src/platform/crypto/base64.ts';
import { decodeSignature } from '../../../src/platform/crypto/signature.ts';
import { encodeDerSignature } from './sign.ts';

const decodeHex = (hex: string) => decodeSignature('es256', Buffer.from(hex, 'hex').toString('base64'));

/** r = 0x11…11 and s = 0x22…22, 32 bytes each. */
const R = `0220${'11'.repeat(32)}`;
const S = `0220${'22'.repeat(32)}`;
const RS = Buffer.from('11'.repeat(32) + '22'.repeat(32), 'hex');

describe('the base64 of a signature', () => {
  it.each(KEY_ALGORITHMS)('is standard or URL-safe, padded or not, for %s', (algorithm) => {
    const bytes = new Uint8Array(64).fill(0xfb);
    const standard = encodeBase64(bytes);
    const forms = [
      standard,
      standard.replace(/=+$/, ''),
      encodeBase64Url(bytes),
      `${encodeBase64Url(bytes)}==`,
    ];
    for (const form of forms) expect(decodeSignature(algorithm, form)).toEqual(bytes);
  });

  it.each([
    ['nothing', ''],
    ['white space alone', ' \n'],
    ['white space that is not ASCII', `\u00a0${RS.toString('base64')}`],
    ['more white space than anybody needs', `${RS.toString('base64')}${' '.repeat(200)}`],
    ['both alphabets together', `+-${RS.toString('base64').slice(2)}`],
    ['hex', RS.toString('hex')],
    ['one padding character of two', RS.toString('base64').slice(0, -1)],
    ['padding in the middle', `${RS.toString('base64').slice(0, 40)}==${RS.toString('base64').slice(42)}`],
    ['unused bits that are not zero', `${RS.toString('base64').slice(0, -3)}h==`],
    ['more than any signature has', 'A'.repeat(100)],
  ])('is refused when it is or has %s', (_name, text) => {
    for (const algorithm of KEY_ALGORITHMS) expect(decodeSignature(algorithm, text)).toBeNull();
  });

  it('may be broken into lines, as openssl base64 does, and indented', () => {
    const text = RS.toString('base64');
    const wrapped = `${text.slice(0, 64)}\n${text.slice(64)}\n`;
    for (const form of [wrapped, wrapped.replaceAll('\n', '\r\n'), ` \t${text}`])
      expect(decodeSignature('es256', form)).toEqual(Uint8Array.from(RS));
  });

  it('holds exactly 64 bytes for ed25519 and bip340', () => {
    for (const algorithm of ['ed25519', 'bip340'] as const) {
      for (const length of [0, 63, 65, 70, 72]) {
        expect(decodeSignature(algorithm, encodeBase64(new Uint8Array(length)))).toBeNull();
      }
    }
  });
});

describe('an ECDSA signature', () => {
  it('is r‖s when it has 64 bytes, whatever they look like', () => {
    const looksLikeDer = Buffer.from(`303e021d${'11'.repeat(29)}021d${'22'.repeat(29)}`, 'hex');
    expect(looksLikeDer).toHaveLength(64);
    expect(decodeSignature('es256', looksLikeDer.toString('base64'))).toEqual(Uint8Array.from(looksLikeDer));
  });

  it('is DER otherwise', () => {
    expect(decodeHex(`3044${R}${S}`)).toEqual(Uint8Array.from(RS));
    expect(decodeHex(`3045022100${'91'.repeat(32)}${S}`)?.[0]).toBe(0x91);
    expect(decodeHex('3006020101020102')?.at(-1)).toBe(2);
    expect(decodeHex('3006020100020100')).toEqual(new Uint8Array(64));
  });

  it.each([
    ['a byte after the sequence', `3044${R}${S}00`],
    ['a byte inside the sequence after s', `3045${R}${S}00`],
    ['a long-form length', `308144${R}${S}`],
    ['an indefinite length', `3080${R}${S}0000`],
    ['a length one too long', `3045${R}${S}`],
    ['a length one too short', `3043${R}${S}`],
    ['a SET instead of a SEQUENCE', `3144${R}${S}`],
    ['an OCTET STRING instead of r', `30440420${'11'.repeat(32)}${S}`],
    ['a leading zero that is not needed', `3045022100${'11'.repeat(32)}${S}`],
    ['a negative r', `30440220${'91'.repeat(32)}${S}`],
    ['a negative s', `3044${R}0220${'92'.repeat(32)}`],
    ['an empty r', `30240200${S}`],
    ['no s', `3022${R}`],
    ['three integers', `3047${R}${S}020101`],
    ['an r of 33 significant bytes', `30450221${'11'.repeat(33)}${S}`],
    ['an r of 33 significant bytes after a zero', `304602220091${'11'.repeat(32)}${S}`],
    ['an r that runs past the end', `3044027f${'11'.repeat(32)}${S}`],
    ['a long-form length of r', `304502812011${'11'.repeat(31)}${S}`],
    ['nothing in the sequence', '3000'],
    ['one byte', '30'],
  ])('is refused with %s', (_name, hex) => {
    expect(decodeHex(hex)).toBeNull();
  });

  it('survives the way through DER for every r and s', () => {
    const shortInteger = fc.uint8Array({ minLength: 1, maxLength: 32 }).map((digits) => {
      const integer = new Uint8Array(32);
      integer.set(digits, 32 - digits.length);
      return integer;
    });
    fc.assert(
      fc.property(shortInteger, shortInteger, (r, s) => {
        const signature = Uint8Array.from([...r, ...s]);
        const der = encodeDerSignature(signature);
        fc.pre(der.length !== 64);
        expect(decodeSignature('es256k', encodeBase64(der))).toEqual(signature);
      }),
    );
  });

  it('has one DER form: any byte string that is read is what is written', () => {
    const anyDer = fc.uint8Array({ minLength: 6, maxLength: 72 }).map((bytes) => {
      const shaped = Uint8Array.from(bytes);
      shaped.set([0x30, shaped.length - 2, 0x02]);
      return shaped;
    });
    fc.assert(
      fc.property(anyDer, (der) => {
        const signature = der.length === 64 ? null : decodeSignature('es256', encodeBase64(der));
        if (signature !== null) expect(encodeDerSignature(signature)).toEqual(der);
      }),
    );
  });
});

import { describe, expect, it } from 'vitest';
import { hashesEqual, hashSecret, newSecret } from '../../../src/platform/crypto/opaque-secret.node.ts';

describe('an opaque secret', () => {
  it('is base64url of 256 random bits, or of as many bytes as asked for', () => {
    expect(newSecret()).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(Buffer.from(newSecret(16), 'base64url')).toHaveLength(16);
    expect(new Set(Array.from({ length: 100 }, () => newSecret())).size).toBe(100);
  });

  it('is hashed as SHA-256 of its UTF-8 text', () => {
    const ABC = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
    expect(hashSecret('abc').toString('hex')).toBe(ABC);
  });

  it('is equal to itself only', () => {
    expect(hashesEqual(hashSecret('a'), hashSecret('a'))).toBe(true);
    expect(hashesEqual(hashSecret('a'), hashSecret('b'))).toBe(false);
    expect(hashesEqual(hashSecret('a'), hashSecret('a').subarray(1))).toBe(false);
  });
});

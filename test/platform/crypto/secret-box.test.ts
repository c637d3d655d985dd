import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type MasterKey, openSecret, sealSecret } from '../../../src/platform/crypto/secret-box.node.ts';

const makeKey = (id: string): MasterKey => ({ id, key: randomBytes(32) });
const older = makeKey('older');
const newer = makeKey('newer');
const secret = Buffer.from('-----BEGIN PRIVATE KEY-----');

describe('a sealed secret', () => {
  it('is opened with its key and context', () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.string(), (plaintext, context) => {
        const sealed = sealSecret([newer, older], context, plaintext);
        expect(Uint8Array.from(openSecret([older, newer], context, sealed))).toEqual(plaintext);
      }),
    );
  });

  it('is sealed with the first key, and stays readable after a new key came first', () => {
    const sealed = sealSecret([older], 'issuer-key:1', secret);
    expect(openSecret([newer, older], 'issuer-key:1', sealed)).toEqual(secret);
    const anew = sealSecret([newer, older], 'issuer-key:1', secret);
    expect(openSecret([newer], 'issuer-key:1', anew)).toEqual(secret);
    expect(() => openSecret([older], 'issuer-key:1', anew)).toThrow(
      expect.objectContaining({ reason: 'unknown_master_key' }),
    );
  });

  it('differs each time and does not show its text', () => {
    const [one, two] = [sealSecret([newer], 'a', secret), sealSecret([newer], 'a', secret)];
    expect(one.equals(two)).toBe(false);
    expect(one.includes(secret)).toBe(false);
  });

  it('is refused without its key, with another key of the same name, and in another context', () => {
    const sealed = sealSecret([newer], 'issuer-key:1', secret);
    const refused = expect.objectContaining({ name: 'SecretBoxError', reason: 'refused' });
    expect(() => openSecret([older], 'issuer-key:1', sealed)).toThrow(
      expect.objectContaining({ reason: 'unknown_master_key' }),
    );
    expect(() => openSecret([makeKey('newer')], 'issuer-key:1', sealed)).toThrow(refused);
    expect(() => openSecret([newer], 'issuer-key:2', sealed)).toThrow(refused);
  });

  it('is refused when any bit of it was changed', () => {
    const sealed = sealSecret([newer], 'issuer-key:1', secret);
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(() => openSecret([newer], 'issuer-key:1', changed)).toThrow(
        expect.objectContaining({ name: 'SecretBoxError' }),
      );
    }
  });

  it('is refused when it was cut short, at any length', () => {
    const sealed = sealSecret([newer], 'issuer-key:1', secret);
    for (let length = 0; length < sealed.length; length++) {
      expect(() => openSecret([newer], 'issuer-key:1', sealed.subarray(0, length))).toThrow(
        expect.objectContaining({ name: 'SecretBoxError' }),
      );
    }
  });

  it('cannot be made without a master key', () => {
    expect(() => sealSecret([], 'issuer-key:1', secret)).toThrow(/no master key/);
  });
});

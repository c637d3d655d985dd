import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createDpopNonces, NONCE_STEP } from '../../../src/authentication/dpop/dpop-nonce.ts';

const [first, second] = [{ key: randomBytes(32) }, { key: randomBytes(32) }];
const STEP = NONCE_STEP * 1000;
const START = 14_000_000 * STEP;

describe('nonces', () => {
  const nonces = createDpopNonces({ masterKeys: [first] });

  it('are short texts of allowed characters, the same within a step and new in the next', () => {
    const nonce = nonces.issue('tenant', START);
    expect(nonce).toMatch(/^[A-Za-z0-9_-]{24}$/);
    expect(nonces.issue('tenant', START + STEP - 1)).toBe(nonce);
    expect(nonces.issue('tenant', START + STEP)).not.toBe(nonce);
  });

  it.each([
    [0, true],
    [STEP - 1, true],
    [STEP, true],
    [2 * STEP - 1, true],
    [2 * STEP, false],
    [10 * STEP, false],
    [-1, true],
    [-STEP - 1, false],
  ])('issued at the beginning of a step, and judged %d ms later: %s', (later, good) => {
    expect(nonces.isRecent('tenant', nonces.issue('tenant', START), START + later)).toBe(good);
  });

  it('are agreed on by all processes with the same master key, and by no others', () => {
    const nonce = createDpopNonces({ masterKeys: [first] }).issue('tenant', START);
    expect(nonces.isRecent('tenant', nonce, START)).toBe(true);
    expect(createDpopNonces({ masterKeys: [second] }).isRecent('tenant', nonce, START)).toBe(false);
  });

  it('outlive a change of the master key', () => {
    const nonce = nonces.issue('tenant', START);
    const changed = createDpopNonces({ masterKeys: [second, first] });
    expect(changed.isRecent('tenant', nonce, START)).toBe(true);
    expect(changed.issue('tenant', START)).not.toBe(nonce);
  });

  it('are worth nothing at another tenant', () => {
    expect(nonces.isRecent('other', nonces.issue('tenant', START), START)).toBe(false);
  });

  it.each(['', 'x', ' '.repeat(24), '\u0000'.repeat(24), '\u{1F600}'.repeat(12)])('are not %j', (text) => {
    expect(nonces.isRecent('tenant', text, START)).toBe(false);
  });

  it('differ from a right one in each of their characters', () => {
    const nonce = nonces.issue('tenant', START);
    for (let index = 0; index < nonce.length; index++) {
      const changed = nonce.slice(0, index) + (nonce[index] === 'A' ? 'B' : 'A') + nonce.slice(index + 1);
      expect(nonces.isRecent('tenant', changed, START)).toBe(false);
    }
  });

  it('cannot be made without a master key', () => {
    const none = createDpopNonces({ masterKeys: [] });
    expect(() => none.issue('tenant', START)).toThrow('master key');
    expect(none.isRecent('tenant', nonces.issue('tenant', START), START)).toBe(false);
  });
});

// The nine lines to the byte. Every implementation in another language must come to the same text.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  buildChallengePayload,
  buildPayloadOfResponse,
  escapeField,
} from '../../../packages/agent/src/payloads.ts';

const fields = {
  nonce: 'aa'.repeat(32),
  timestamp: 1_767_225_600,
  expiresAt: 1_767_225_900,
  audience: 'https://id.example.com',
  clientId: 'service-agent',
  scopeHash: 'bb'.repeat(32),
  keyFingerprint: 'cc'.repeat(32),
  algorithm: 'ed25519',
};

const TEXT = [
  'SERVICE-CHALLENGE-V1',
  `nonce:${'aa'.repeat(32)}`,
  'timestamp:1767225600',
  'expires_at:1767225900',
  'audience:https://id.example.com',
  'client_id:service-agent',
  `scope_hash:${'bb'.repeat(32)}`,
  `key_fingerprint:${'cc'.repeat(32)}`,
  'algorithm:ed25519',
].join('\n');

const decode = (bytes: Uint8Array) => new TextDecoder('utf-8', { fatal: true }).decode(bytes);

describe('the challenge payload', () => {
  it('is the nine lines of the specification, with nothing after the last', () => {
    expect(decode(buildChallengePayload(fields))).toBe(TEXT);
  });

  it('is the same from the response of the challenge route, whose times are ISO 8601', () => {
    const response = {
      challenge_id: '0198c2a1-0000-7000-8000-000000000000',
      nonce: fields.nonce,
      timestamp: '2026-01-01T00:00:00Z',
      expires_at: '2026-01-01T00:05:00.000Z',
      audience: fields.audience,
      client_id: fields.clientId,
      scope_hash: fields.scopeHash,
      key_fingerprint: fields.keyFingerprint,
      algorithm: fields.algorithm,
    };
    expect(decode(buildPayloadOfResponse(response))).toBe(TEXT);
    expect(() => buildPayloadOfResponse({ ...response, timestamp: 'soon' })).toThrow(RangeError);
  });

  it.each([1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60])('refuses %d as a time', (timestamp) => {
    expect(() => buildChallengePayload({ ...fields, timestamp })).toThrow(RangeError);
  });

  it('keeps characters beyond ASCII as UTF-8', () => {
    const bytes = buildChallengePayload({ ...fields, audience: 'https://é.example/€' });
    expect(Buffer.from(bytes).includes(Buffer.from('audience:https://é.example/€\n'))).toBe(true);
  });

  it('has nine lines whatever the fields are, and no two payloads are alike', () => {
    const texts = fc.record({
      nonce: fc.string(),
      audience: fc.string({
        unit: fc.constantFrom('a', '\\', '\n', '\r', '\t', 'n', 'u', '0', '\u0000', '\u007f'),
      }),
      clientId: fc.string(),
      scopeHash: fc.string(),
      keyFingerprint: fc.string(),
      algorithm: fc.string(),
    });
    fc.assert(
      fc.property(texts, texts, (one, two) => {
        const [left, right] = [one, two].map((text) => decode(buildChallengePayload({ ...fields, ...text })));
        expect(left?.split('\n')).toHaveLength(9);
        expect(left === right).toBe(JSON.stringify(one) === JSON.stringify(two));
      }),
    );
  });
});

describe('escaping', () => {
  it.each([
    ['plain', 'plain'],
    ['a\\b', 'a\\\\b'],
    ['\\n', '\\\\n'],
    ['a\nb', 'a\\nb'],
    ['a\r\nb', 'a\\r\\nb'],
    ['a\tb', 'a\\tb'],
    ['\u0000', '\\u0000'],
    ['\b\f\v', '\\u0008\\u000c\\u000b'],
    ['\u001b[0m', '\\u001b[0m'],
    ['\u001f ', '\\u001f '],
    ['\u007f', '\\u007f'],
    ['"/é\u0080\u2028', '"/é\u0080\u2028'],
  ])('writes %j as %j', (text, escaped) => {
    expect(escapeField(text)).toBe(escaped);
  });

  it('can be undone, so that no two texts have one escaped form', () => {
    const undo = (text: string) =>
      text.replace(/\\(?:u([0-9a-f]{4})|(.))/g, (_, code, letter) =>
        code
          ? String.fromCharCode(Number.parseInt(code, 16))
          : ({ n: '\n', r: '\r', t: '\t' }[letter as string] ?? letter),
      );
    const units = fc.oneof(
      fc.integer({ min: 0, max: 0xff }).map((code) => String.fromCharCode(code)),
      fc.constantFrom('\\', 'n', 'u'),
    );
    fc.assert(
      fc.property(fc.string({ unit: units }), (text) => {
        expect(undo(escapeField(text))).toBe(text);
        const codes = [...escapeField(text)].map((character) => character.charCodeAt(0));
        expect(codes.filter((code) => code < 0x20 || code === 0x7f)).toEqual([]);
      }),
    );
  });
});

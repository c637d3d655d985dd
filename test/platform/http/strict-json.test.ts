// What the JSON parser accepts and refuses.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonError, parseStrictJson } from '../../../src/platform/http/strict-json.ts';

const refusal = (text: string): JsonError => {
  try {
    parseStrictJson(text);
  } catch (error) {
    if (error instanceof JsonError) return error;
    throw error;
  }
  throw new Error(`accepted: ${text}`);
};

describe('strict JSON', () => {
  it.each([
    ['a repeated name', '{"a":1,"a":2}', '', /repeated/],
    ['a repeated name that is spelled differently', '{"a":1,"\\u0061":2}', '', /repeated/],
    ['a repeated name deep inside', '{"a":[{"b":{"c":1,"c":1}}]}', '', /repeated/],
    ['a repeated __proto__', '{"__proto__":1,"__proto__":2}', '', /repeated/],
    ['__proto__', '{"a":{"__proto__":{"admin":true}}}', 'a.__proto__', /name/],
    ['an escaped __proto__', '{"\\u005f_proto__":1}', '__proto__', /name/],
    ['U+0000 in a value', '{"a":["x","\\u0000"]}', 'a.1', /U\+0000/],
    ['U+0000 in a name', '{"a":{"\\u0000":1}}', 'a', /U\+0000/],
    ['a lone high surrogate', '{"a":"\\ud800"}', 'a', /surrogate/],
    ['a lone low surrogate', '{"a":{"b":"x\\udc00y"}}', 'a.b', /surrogate/],
    ['a number beyond the range', '{"a":1e999}', '', /range/],
    [
      'a whole number that a double cannot hold',
      '{"a":12345678901234567890}',
      '',
      /12345678901234567890.*string/,
    ],
    ['the first whole number that a double cannot hold', '[-9007199254740993]', '', /exactly/],
    ['a fraction with more digits than a double has', '{"a":1.234567890123456789}', '', /exactly/],
    ['a fraction that becomes 0', '{"a":1e-400}', '', /1e-400.*string/],
    ['a negative one', '{"a":[-1E-324]}', '', /exactly/],
    ['a long one', '{"a":1.2345678901234567e-400}', '', /exactly/],
    ['one without an exponent', `[0.${'0'.repeat(400)}1]`, '', /exactly/],
    ['a fraction so small that a double has fewer digits', '{"a":3e-324}', '', /exactly/],
    ['65 levels', '['.repeat(65) + ']'.repeat(65), '', /nested/],
    ['a million levels', '['.repeat(1_000_000), '', /nested/],
    ['25,001 elements', JSON.stringify(Array(25_001).fill(1)), '', /more than 25000/],
    ['25,001 objects', `[${Array(12_501).fill('{"a":1}').join()}]`, '', /more than 25000/],
    ['an empty text', '', '', /valid JSON/],
    ['a trailing comma', '{"a":1,}', '', /valid JSON/],
    ['a comment', '{"a":1} // x', '', /valid JSON/],
    ['single quotes', "{'a':1}", '', /valid JSON/],
    ['an open string', '{"a":"x', '', /valid JSON/],
    ['NaN', '{"a":NaN}', '', /valid JSON/],
    ['a raw control character', '{"a":"\n"}', '', /valid JSON/],
  ])('refuses %s', (_what, text, path, message) => {
    const error = refusal(text);
    expect(error.path).toBe(path);
    expect(error.message).toMatch(message);
  });

  it.each([
    ['a surrogate pair', '{"a":"\\ud83d\\ude00"}', { a: '😀' }],
    [
      'colons, braces and quotes in strings',
      '{"a:b":"{\\"c\\":[1]}","d":"\\\\"}',
      { 'a:b': '{"c":[1]}', d: '\\' },
    ],
    ['25,000 elements', JSON.stringify(Array(25_000).fill(1)), Array(25_000).fill(1)],
    ['64 levels', '['.repeat(64) + ']'.repeat(64), undefined],
    ['the name constructor', '{"constructor":1}', { constructor: 1 }],
    ['a scalar', '7', 7],
    [
      'long numbers that a double holds',
      '[9007199254740992,1000000000000000000000,0.10000000000000001,-1.5E+300]',
      undefined,
    ],
    ['the smallest numbers', '[5e-324,2.2250738585072014e-308,1e-300]', undefined],
    ['zero in any form', '[0,-0,0e-400,0.0E+400,-0.000000000000000000]', undefined],
    ['digits in strings and names', '{"12345678901234567890":"12345678901234567890"}', undefined],
  ])('accepts %s', (_what, text, value) => {
    expect(parseStrictJson(text)).toEqual(value ?? JSON.parse(text));
  });

  it.each([
    ['zeros within a number', `[1${'0'.repeat(500_000)}1]`],
    ['zeros behind a point', `[0.${'0'.repeat(500_000)}1]`],
    ['zeros behind a number', `[1${'0'.repeat(500_000)}]`],
    ['exponents', `[1${'e1'.repeat(250_000)}]`],
    ['backslashes', `["${'\\\\'.repeat(250_000)}`],
  ])('takes no longer than its text for half a million %s', (_what, text) => {
    // In quadratic time it is minutes, and the case does not end in time.
    try {
      parseStrictJson(text);
    } catch (error) {
      expect(error).toBeInstanceOf(JsonError);
    }
  });

  it('agrees with JSON.parse on every JSON value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(undefined, 1, '\t'), (value, space) => {
        const text = JSON.stringify(value, undefined, space);
        fc.pre(!/__proto__|\\u0000|\\ud[89a-f]/i.test(text));
        expect(parseStrictJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it('never throws anything but a JsonError', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'{}[]",:\\ua01e9.-tnfls ') }), (text) => {
        try {
          parseStrictJson(text);
        } catch (error) {
          expect(error).toBeInstanceOf(JsonError);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

// What the JSON parser accepts and refuses.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonError, parseInSteps, parseStrictJson } from '../../../src/platform/http/strict-json.ts';

const refusal = (text: string): JsonError => {
  try {
    parseStrictJson(text);
  } catch (error) {
    if (error instanceof JsonError) return error;
    throw error;
  }
  throw new Error(`accepted: ${text}`);
};

const objectOf = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`name_${n}`, n]));

/** What the steps of a text give, or the reason of its refusal, and how many steps there were. */
const inSteps = (text: string, part?: number) => {
  const steps = parseInSteps(text, part);
  for (let count = 0; ; count += 1) {
    try {
      const { done, value } = steps.next();
      if (done) return { value, count };
    } catch (error) {
      if (!(error instanceof JsonError)) throw error;
      return { refused: error.message, count };
    }
  }
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
    ['10,001 members', JSON.stringify(objectOf(10_001)), '', /more than 10000 .* in one value/],
    ['an element with 10,001 members', JSON.stringify([1, objectOf(10_001)]), '', /more than 10000/],
    ['a first element with 10,001 members', JSON.stringify([objectOf(10_001), 1]), '', /more than 10000/],
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
    ['10,000 members', JSON.stringify(objectOf(10_000)), undefined],
    ['elements with 10,000 members', JSON.stringify([objectOf(10_000), objectOf(10_000)]), undefined],
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

  it('takes a long array in many steps, and one value in a few', () => {
    const events = Array.from({ length: 500 }, (_, n) => ({
      type: 'a.b',
      data: { [`n${n}`]: 'x'.repeat(1_900) },
    }));
    expect(inSteps(JSON.stringify(events))).toEqual({ value: events, count: 31 });
    expect(inSteps(JSON.stringify(objectOf(9_000))).count).toBe(2);
    expect(inSteps('{"a":"\\u0061"}').count).toBe(3);
  });

  it('gives the same for an array in small steps', () => {
    const text = fc.string({ unit: fc.constantFrom(...'[]{},,1" ', '{"a":1}', '[1]', ':') });
    const json = fc.array(fc.jsonValue({ maxDepth: 2 })).map((value) => JSON.stringify(value));
    fc.assert(
      fc.property(
        fc.oneof(
          text,
          text.map((inner) => `[${inner}]`),
          json,
        ),
        fc.integer({ min: 1, max: 9 }),
        (sent, part) => {
          const whole = inSteps(sent, sent.length);
          const parts = inSteps(sent, part);
          expect(parts.value).toEqual(whole.value);
          expect(parts.refused === undefined).toBe(whole.refused === undefined);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ['[{"a":1},\n{"a":1,}]', 'line 2, column 8'],
    ['[1,2,\n]', 'line 2, column 1'],
    ['[1,2}', 'line 1, column 5'],
    ['[1,2] 3', 'line 1, column 6'],
    [' x [1,2]', 'line 1, column 1'],
    ['[1,2', 'line 1, column 5'],
    ['[1,2,{"a":', 'too early'],
  ])('says where %s is no JSON, in small steps too', (text, place) => {
    expect(inSteps(text, 1).refused).toContain(place);
  });
});

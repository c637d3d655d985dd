import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSampler, SAMPLERS } from '../../src/tracing/sampler.ts';
import { formatTraceparent, parseTraceparent } from '../../src/tracing/trace-context.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

describe('traceparent (W3C Trace Context, section 3.2)', () => {
  it.each([
    [`00-${TRACE}-${SPAN}-01`, true],
    [`00-${TRACE}-${SPAN}-00`, false],
    [`00-${TRACE}-${SPAN}-03`, true],
    [`00-${TRACE}-${SPAN}-ff`, true],
    // A later version may be longer.
    [`01-${TRACE}-${SPAN}-01`, true],
    [`cc-${TRACE}-${SPAN}-01-what-the-future-will-be-like`, true],
  ])('is read: %s', (text, sampled) => {
    expect(parseTraceparent(text)).toEqual({ traceId: TRACE, spanId: SPAN, sampled });
  });

  it.each([
    undefined,
    '',
    'garbage',
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}-01.`,
    `cc-${TRACE}-${SPAN}-01.what`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.slice(1)}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}0-01`,
    `00-${TRACE}-${SPAN}-1`,
    `0-${TRACE}-${SPAN}-01`,
    ` 00-${TRACE}-${SPAN}-01`,
    // What Node makes of two headers.
    `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
  ])('is not taken: %s', (text) => {
    expect(parseTraceparent(text)).toBeUndefined();
  });

  it('reads what it writes, and nothing makes it throw', () => {
    const hex = (length: number) =>
      fc
        .array(fc.constantFrom(...'0123456789abcdef'), { minLength: length, maxLength: length })
        .map((digits) => digits.join(''))
        .filter((text) => !/^0+$/.test(text));
    fc.assert(
      fc.property(hex(32), hex(16), fc.boolean(), (traceId, spanId, sampled) => {
        const context = { traceId, spanId, sampled };
        expect(formatTraceparent(context)).toHaveLength(55);
        expect(parseTraceparent(formatTraceparent(context))).toEqual(context);
      }),
    );
    fc.assert(fc.property(fc.string(), (text) => void parseTraceparent(text)));
  });
});

describe('a sampler', () => {
  const low = `${'f'.repeat(18)}${'0'.repeat(14)}`;
  const high = 'f'.repeat(32);

  it.each([
    ['always_on', 0, [true, true, true]],
    ['always_off', 1, [false, false, false]],
    ['traceidratio', 0.5, [true, true, true]],
    ['parentbased_always_on', 0, [true, true, false]],
    ['parentbased_always_off', 1, [false, true, false]],
    ['parentbased_traceidratio', 0.5, [true, true, false]],
  ] as const)(
    '%s decides of a root, and of what follows from a recorded one and from another',
    (name, ratio, expected) => {
      const sample = createSampler(name, ratio);
      expect([undefined, true, false].map((parent) => sample(low, parent))).toEqual(expected);
    },
  );

  it('takes the part of the ids that it was told, and of each id always the same', () => {
    const sample = createSampler('traceidratio', 0.25);
    expect([sample(low, undefined), sample(high, undefined)]).toEqual([true, false]);
    const spread = Array.from({ length: 64 }, (_, n) => (n * 4).toString(16).padStart(2, '0'));
    const ids = spread.map((digits) => `${'a'.repeat(18)}${digits}${'0'.repeat(12)}`);
    expect(ids.filter((id) => sample(id, undefined))).toHaveLength(16);
    expect(SAMPLERS).toHaveLength(6);
    expect(createSampler('traceidratio', 0)(low, undefined)).toBe(false);
    expect(createSampler('traceidratio', 1)(high, undefined)).toBe(true);
  });
});

// The tracer as the service uses it: what follows from what, what is recorded, and what a collector gets of it.
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ServiceError } from '../../../src/platform/errors/service-error.ts';
import { openTracing } from '../../../src/platform/tracing/open-tracing.ts';
import { createOtlpProcessor } from '../../../src/platform/tracing/otlp.client.ts';
import { createSampler, createTracer } from '../../../src/platform/tracing/tracer.ts';
import { NO_TRACING } from '../../../src/platform/tracing/tracing.ts';
import { eventually } from '../../workflows/delivery-engine.ts';
import { startCollector } from './collector.ts';
import { partsOf, tracerWithSpans } from './spans.ts';

const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const UNSAMPLED = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00';

describe('a tracer', () => {
  it('nests what is done inside a span, also side by side', async () => {
    const { tracer, spans } = tracerWithSpans();
    const request = (name: string) =>
      tracer.span(name, { root: true }, async () => {
        await sleep(5);
        await tracer.span(`${name} inside`, {}, () => sleep(5));
        return tracer.current();
      });
    const [first, second] = await Promise.all([request('a'), request('b')]);
    expect(partsOf(first)?.traceId).not.toBe(partsOf(second)?.traceId);
    for (const [name, outer] of [
      ['a', first],
      ['b', second],
    ] as const) {
      const inside = spans().find((span) => span.name === `${name} inside`);
      expect(inside?.parentSpanId).toBe(partsOf(outer)?.spanId);
      expect(inside?.traceId).toBe(partsOf(outer)?.traceId);
    }
    expect(tracer.current()).toBeUndefined();
  });

  it('goes on with a trace that comes from elsewhere, and begins one only where it may', async () => {
    const { tracer, spans } = tracerWithSpans();
    await tracer.span('follows', { parent: PARENT }, async () => undefined);
    expect(spans()).toMatchObject([{ traceId: PARENT.slice(3, 35), parentSpanId: PARENT.slice(36, 52) }]);
    expect(await tracer.span('alone', {}, async () => tracer.current())).toBeUndefined();
    expect(await tracer.span('garbage', { parent: 'garbage' }, async () => tracer.current())).toBeUndefined();
    expect(spans()).toHaveLength(1);
    await tracer.span('garbage', { parent: 'garbage', root: true }, async () => undefined);
    expect(spans()[1]?.parentSpanId).toBeUndefined();
  });

  it('hands on what it was given as a parent, and nothing that a stranger sends makes it throw', async () => {
    const { tracer } = tracerWithSpans();
    await fc.assert(
      fc.asyncProperty(fc.string(), async (parent) => {
        const told = await tracer.span('work', { parent, root: true }, async () => tracer.current());
        expect(partsOf(told)).toBeDefined();
      }),
    );
    const hex = (length: number) =>
      fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`)).filter((text) => !/^0+$/.test(text));
    await fc.assert(
      fc.asyncProperty(hex(32), hex(16), async (traceId, spanId) => {
        const parent = `00-${traceId}-${spanId}-01`;
        const told = await tracer.span('work', { parent }, async () => tracer.current());
        expect(partsOf(told)?.traceId).toBe(traceId);
      }),
    );
  });

  it('records nothing below what is not recorded, and tells nobody of it', async () => {
    const { tracer, spans } = tracerWithSpans();
    await tracer.span('outer', { parent: UNSAMPLED, root: true }, async () => {
      expect(tracer.current()).toBeUndefined();
      await tracer.span('inner', { root: true }, async () => expect(tracer.current()).toBeUndefined());
    });
    expect(spans()).toEqual([]);
  });

  it('says that work failed by a code, never by a text', async () => {
    const { tracer, spans } = tracerWithSpans();
    const refused = new ServiceError('key_revoked', { detail: 'of somebody' });
    for (const error of [refused, new TypeError('secret')])
      await expect(tracer.span('work', { root: true }, () => Promise.reject(error))).rejects.toBe(error);
    expect(spans().map(({ failed, attributes }) => [failed, attributes])).toEqual([
      [true, { 'error.type': 'key_revoked' }],
      [true, { 'error.type': 'TypeError' }],
    ]);
  });

  it('is not there where the settings ask for none', async () => {
    const none = await openTracing(
      { tracing: undefined },
      { role: 'api', logger: { warn: () => undefined } },
    );
    expect(none).toBe(NO_TRACING);
    expect(await none.span('work', { root: true }, async () => none.current())).toBeUndefined();
  });
});

describe('a sampler', () => {
  it.each([
    ['always_on', 0, [true, true, true]],
    ['always_off', 1, [false, false, false]],
    ['traceidratio', 1, [true, true, true]],
    ['traceidratio', 0, [false, false, false]],
    ['parentbased_always_on', 0, [true, true, false]],
    ['parentbased_always_off', 1, [false, true, false]],
    ['parentbased_traceidratio', 1, [true, true, false]],
    ['parentbased_traceidratio', 0, [false, true, false]],
  ] as const)(
    '%s %d decides of a root, and of what follows from a recorded one and from another',
    async (name, ratio, expected) => {
      const { tracer, spans } = tracerWithSpans(name, ratio);
      for (const parent of [undefined, PARENT, UNSAMPLED])
        await tracer.span(String(parent), { parent, root: true }, async () => undefined);
      const recorded = spans().map((span) => span.name);
      expect([undefined, PARENT, UNSAMPLED].map((parent) => recorded.includes(String(parent)))).toEqual(
        expected,
      );
    },
  );
});

describe('what a collector gets', () => {
  async function open(statusOf: (request: number) => number, delay = 10, patience = 15_000) {
    const collector = await startCollector(statusOf);
    const failures: unknown[] = [];
    const processor = createOtlpProcessor({
      settings: { url: `${collector.url}/v1/traces`, headers: { 'x-team': 'agents' } },
      onFailure: (error) => failures.push(error),
      delay,
      patience,
    });
    const tracer = createTracer({ sampler: createSampler('always_on', 1), processor });
    const work = (name: string) =>
      tracer.span(
        name,
        {
          root: true,
          kind: 'server',
          attributes: { text: 'a', count: 3, share: 0.5, yes: true, no: undefined },
        },
        () => sleep(2),
      );
    return { collector, failures, tracer, work };
  }

  it('is each span once, with its types, its times and the headers of the settings', async () => {
    const { collector, failures, tracer, work } = await open(() => 200);
    await Promise.all([work('one'), work('two')]);
    await eventually(() => collector.spans.length === 2, 'the spans');
    const [one] = collector.spans;
    expect(one).toMatchObject({
      name: 'one',
      kind: 2,
      failed: false,
      attributes: { text: 'a', count: 3, share: 0.5, yes: true },
    });
    expect(Object.keys(one?.attributes ?? {})).not.toContain('no');
    expect(BigInt(one?.endTimeUnixNano ?? 0) - BigInt(one?.startTimeUnixNano ?? 0)).toBeGreaterThan(
      1_000_000n,
    );
    expect(collector.headers[0]).toMatchObject({ 'x-team': 'agents' });
    expect(failures).toEqual([]);
    await tracer.close();
    await collector.close();
  });

  it('comes later where the collector could not take it for now, and what it refuses is told', async () => {
    const { collector, failures, tracer, work } = await open((request) => [503, 200, 400][request] ?? 200);
    await work('later');
    await eventually(() => collector.spans.length === 1, 'the second try');
    await work('refused');
    await eventually(() => failures.length === 1, 'the refusal');
    await work('at the end');
    await tracer.close();
    expect(collector.spans.map(({ name }) => name)).toEqual(['later', 'at the end']);
    await collector.close();
  });

  it('is bounded while nobody answers, and lets the process end in time', async () => {
    const { collector, failures, tracer, work } = await open(() => 503, 600_000, 600_000);
    await Promise.all(Array.from({ length: 6_000 }, (_, n) => work(`${n}`)));
    await eventually(() => failures.length > 0, 'word of what was given up');
    // What the exporter would still wait for outlasts the case.
    await tracer.close();
    await collector.close();
  });
});

import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ServiceError } from '../../src/errors/service-error.ts';
import { openTracing } from '../../src/tracing/open-tracing.ts';
import { createOtlpExporter } from '../../src/tracing/otlp.exporter.ts';
import { createSampler } from '../../src/tracing/sampler.ts';
import { parseTraceparent } from '../../src/tracing/trace-context.ts';
import { createTracer, type EndedSpan } from '../../src/tracing/tracer.ts';
import { NO_TRACING } from '../../src/tracing/tracing.ts';
import { eventually } from '../workflows/delivery-engine.ts';
import { startCollector } from './collector.ts';

const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const UNSAMPLED = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00';

function tracerWithSpans() {
  const spans: EndedSpan[] = [];
  const exporter = { add: (span: EndedSpan) => void spans.push(span), close: async () => undefined };
  return { tracer: createTracer({ sampler: createSampler('parentbased_always_on', 1), exporter }), spans };
}

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
    expect(parseTraceparent(first)?.traceId).not.toBe(parseTraceparent(second)?.traceId);
    for (const [name, outer] of [
      ['a', first],
      ['b', second],
    ] as const) {
      const inside = spans.find((span) => span.name === `${name} inside`);
      expect(inside?.parentSpanId).toBe(parseTraceparent(outer)?.spanId);
      expect(inside?.context.traceId).toBe(parseTraceparent(outer)?.traceId);
    }
    expect(tracer.current()).toBeUndefined();
  });

  it('goes on with a trace that comes from elsewhere, and begins one only where it may', async () => {
    const { tracer, spans } = tracerWithSpans();
    await tracer.span('follows', { parent: PARENT }, async () => undefined);
    expect(spans).toMatchObject([
      { context: { traceId: PARENT.slice(3, 35) }, parentSpanId: PARENT.slice(36, 52) },
    ]);
    expect(await tracer.span('alone', {}, async () => tracer.current())).toBeUndefined();
    expect(await tracer.span('garbage', { parent: 'garbage' }, async () => tracer.current())).toBeUndefined();
    expect(spans).toHaveLength(1);
    await tracer.span('garbage', { parent: 'garbage', root: true }, async () => undefined);
    expect(spans[1]?.parentSpanId).toBeUndefined();
  });

  it('records nothing below what is not recorded, and tells nobody of it', async () => {
    const { tracer, spans } = tracerWithSpans();
    await tracer.span('outer', { parent: UNSAMPLED, root: true }, async () => {
      expect(tracer.current()).toBeUndefined();
      await tracer.span('inner', { root: true }, async () => expect(tracer.current()).toBeUndefined());
    });
    expect(spans).toEqual([]);
  });

  it('says that work failed by a code, never by a text', async () => {
    const { tracer, spans } = tracerWithSpans();
    const refused = new ServiceError('key_revoked', { detail: 'of somebody' });
    for (const error of [refused, new TypeError('secret')])
      await expect(tracer.span('work', { root: true }, () => Promise.reject(error))).rejects.toBe(error);
    expect(spans.map(({ failed, attributes }) => [failed, attributes])).toEqual([
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

describe('the exporter', () => {
  const span = (name: string): EndedSpan => ({
    context: { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), sampled: true },
    parentSpanId: undefined,
    name,
    kind: 'internal',
    startedAt: 1_795_284_690_791.25,
    endedAt: 1_795_284_690_792,
    attributes: { text: 'a', count: 3, share: 0.5, yes: true, none: undefined },
    failed: false,
  });

  async function open(statusOf: (request: number) => number, delay = 10) {
    const collector = await startCollector(statusOf);
    const dropped: [number, string][] = [];
    const settings = { url: `${collector.url}/v1/traces`, headers: {}, resource: {} };
    const onDropped = (count: number, reason: string) => void dropped.push([count, reason]);
    return { collector, dropped, exporter: createOtlpExporter({ settings, onDropped, delay }) };
  }

  it('sends spans with their types and times, together', async () => {
    const { collector, dropped, exporter } = await open(() => 200);
    exporter.add(span('one'));
    exporter.add(span('two'));
    await eventually(() => collector.spans.length === 2, 'the spans');
    expect(collector.requests()).toBe(1);
    expect(collector.spans[0]).toMatchObject({
      name: 'one',
      startTimeUnixNano: '1795284690791250000',
      endTimeUnixNano: '1795284690792000000',
      attributes: { text: 'a', count: 3, share: 0.5, yes: true },
    });
    expect(collector.spans[0]).not.toHaveProperty('parentSpanId');
    expect(dropped).toEqual([]);
    await exporter.close();
    await collector.close();
  });

  it('tries again what the collector could not take for now, and drops what it refuses', async () => {
    const { collector, dropped, exporter } = await open((request) => [503, 200, 400][request] ?? 200);
    exporter.add(span('later'));
    await eventually(() => collector.spans.length === 1, 'the second try');
    exporter.add(span('refused'));
    await eventually(() => dropped.length === 1, 'the refusal');
    expect(dropped).toEqual([[1, 'status 400']]);
    exporter.add(span('at the end'));
    await exporter.close();
    expect(collector.spans.map(({ name }) => name)).toEqual(['later', 'at the end']);
    await collector.close();
  });

  it('keeps a bounded number while nobody answers, and lets the process end', {
    timeout: 60_000,
  }, async () => {
    const { collector, dropped, exporter } = await open(() => 503);
    for (let n = 0; n < 3_000; n += 1) exporter.add(span(`${n}`));
    expect(dropped.filter(([, reason]) => reason === 'too many at once')).toHaveLength(3_000 - 2_048);
    await exporter.close();
    expect(dropped.reduce((sum, [count]) => sum + count, 0)).toBe(3_000);
    await collector.close();
  });
});

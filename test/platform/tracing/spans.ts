// A tracer whose spans stay in memory.
import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace';
import type { SamplerName } from '../../../src/platform/config-tracing.ts';
import { createSampler, createTracer } from '../../../src/platform/tracing/tracer.ts';

/** A `traceparent` as its parts. */
export function partsOf(traceparent: string | undefined): { traceId: string; spanId: string } | undefined {
  const [, traceId, spanId] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-0[01]$/.exec(traceparent ?? '') ?? [];
  return traceId === undefined || spanId === undefined ? undefined : { traceId, spanId };
}

export function tracerWithSpans(sampler: SamplerName = 'parentbased_always_on', ratio = 1) {
  const exporter = new InMemorySpanExporter();
  const processor = new SimpleSpanProcessor({ exporter });
  return {
    tracer: createTracer({ sampler: createSampler(sampler, ratio), processor }),
    /** Those that have ended, in that order. */
    spans: () =>
      exporter.getFinishedSpans().map((span) => ({
        name: span.name,
        attributes: span.attributes,
        kind: span.kind,
        failed: span.status.code === 2,
        parentSpanId: span.parentSpanContext?.spanId,
        traceId: span.spanContext().traceId,
        spanId: span.spanContext().spanId,
      })),
  };
}

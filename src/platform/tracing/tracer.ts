// Spans by OpenTelemetry's SDK, without global state. The current span follows asynchronous calls.
// docs/decisions/0016-traces.md
import {
  type Context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  type Span as SdkSpan,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { globalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core';
import type { Resource } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { SamplerName } from '../config-tracing.ts';
import { ServiceError } from '../errors/service-error.ts';
import { within } from '../within.ts';
import { NO_SPAN, type Span, type Tracing } from './tracing.ts';

/** Milliseconds for sending the remaining spans at the end. */
const CLOSE_TIMEOUT = 5_000;

const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
} as const;

type TracerNeeds = { sampler: Sampler; processor: SpanProcessor; resource?: Resource | undefined };

/**
 * @param options.processor receives the spans that have ended
 * @param options.resource describes this process
 */
export function createTracer({ sampler, processor, resource }: TracerNeeds): Tracing {
  const provider = new TracerProvider({
    sampler,
    spanProcessors: [processor],
    ...(resource === undefined ? {} : { resource }),
  });
  const tracer = provider.getTracer('countersign');
  const underWay = new AsyncLocalStorageContextManager().enable();
  const propagator = new W3CTraceContextPropagator();

  const contextOf = (given: string | undefined): Context =>
    given === undefined
      ? underWay.active()
      : propagator.extract(ROOT_CONTEXT, { traceparent: given }, defaultTextMapGetter);

  return {
    on: true,
    current: () => {
      const context = underWay.active();
      const flags = trace.getSpanContext(context)?.traceFlags ?? TraceFlags.NONE;
      if ((flags & TraceFlags.SAMPLED) === 0) return undefined;
      const carrier: { traceparent?: string } = {};
      propagator.inject(context, carrier, defaultTextMapSetter);
      return carrier.traceparent;
    },
    span: async (name, { kind = 'internal', parent, root, attributes = {} }, work) => {
      const context = contextOf(parent);
      if (trace.getSpanContext(context) === undefined && root !== true) return work(NO_SPAN);
      const span = tracer.startSpan(name, { kind: KINDS[kind], attributes: defined(attributes) }, context);
      try {
        return await underWay.with(trace.setSpan(context, span), () => work(toSpan(span)));
      } catch (error) {
        toSpan(span).fail(typeOf(error));
        throw error;
      } finally {
        span.end();
      }
    },
    close: async () => {
      await within(CLOSE_TIMEOUT, provider.shutdown().catch(globalErrorHandler), () => undefined);
    },
  };
}

function toSpan(span: SdkSpan): Span {
  return {
    set: (attributes) => void span.setAttributes(defined(attributes)),
    rename: (name) => void span.updateName(name),
    fail: (type) => void span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR }),
  };
}

function defined(attributes: Parameters<Span['set']>[0]): Record<string, string | number | boolean> {
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

/** The code or class of an error. Its message is not used, because it may contain confidential data. */
function typeOf(error: unknown): string {
  if (error instanceof ServiceError) return error.code;
  return error instanceof Error ? error.name : 'error';
}

const followParent = (root: Sampler): Sampler => new ParentBasedSampler({ root });

const SAMPLERS: Readonly<Record<SamplerName, (ratio: number) => Sampler>> = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  traceidratio: (ratio) => new TraceIdRatioBasedSampler(ratio),
  parentbased_always_on: () => followParent(new AlwaysOnSampler()),
  parentbased_always_off: () => followParent(new AlwaysOffSampler()),
  parentbased_traceidratio: (ratio) => followParent(new TraceIdRatioBasedSampler(ratio)),
};

/** @param ratio of recorded traces, 0 to 1, for the samplers with a ratio */
export function createSampler(name: SamplerName, ratio: number): Sampler {
  return SAMPLERS[name](ratio);
}

// Spans of this process: which one is under way follows the calls, and one that has ended goes to the exporter.
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { ServiceError } from '../errors/service-error.ts';
import type { Sampler } from './sampler.ts';
import { formatTraceparent, parseTraceparent, type TraceContext } from './trace-context.ts';
import { type Attributes, NO_SPAN, type Span, type SpanKind, type Tracing } from './tracing.ts';

/** A span that has ended; times are milliseconds since 1970, with fractions. */
export type EndedSpan = {
  readonly context: TraceContext;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: SpanKind;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly attributes: Attributes;
  readonly failed: boolean;
};

/** @param exporter takes spans without waiting */
export function createTracer({
  sampler,
  exporter,
}: {
  sampler: Sampler;
  exporter: { add(span: EndedSpan): void; close(): Promise<void> };
}): Tracing {
  const underWay = new AsyncLocalStorage<TraceContext>();

  const span: Tracing['span'] = async (
    name,
    { kind = 'internal', parent: given, root, attributes },
    work,
  ) => {
    const parent = given === undefined ? underWay.getStore() : parseTraceparent(given);
    if (parent === undefined && root !== true) return work(NO_SPAN);
    const traceId = parent?.traceId ?? randomBytes(16).toString('hex');
    const sampled = sampler(traceId, parent?.sampled);
    const context = { traceId, spanId: randomBytes(8).toString('hex'), sampled };
    if (!sampled) return underWay.run(context, () => work(NO_SPAN));
    const kept = { name, attributes: { ...attributes } as Attributes, failed: false };
    const startedAt = now();
    try {
      return await underWay.run(context, () => work(recorder(kept)));
    } catch (error) {
      recorder(kept).fail(typeOf(error));
      throw error;
    } finally {
      exporter.add({ ...kept, context, parentSpanId: parent?.spanId, kind, startedAt, endedAt: now() });
    }
  };

  return {
    on: true,
    current: () => {
      const context = underWay.getStore();
      return context?.sampled ? formatTraceparent(context) : undefined;
    },
    span,
    close: () => exporter.close(),
  };
}

function recorder(kept: { name: string; attributes: Attributes; failed: boolean }): Span {
  return {
    set: (attributes) => {
      kept.attributes = { ...kept.attributes, ...attributes };
    },
    rename: (name) => {
      kept.name = name;
    },
    fail: (type) => {
      kept.attributes = { ...kept.attributes, 'error.type': type };
      kept.failed = true;
    },
  };
}

/** A code or a class: an error's message may say what nobody else is to read. */
function typeOf(error: unknown): string {
  if (error instanceof ServiceError) return error.code;
  return error instanceof Error ? error.name : 'error';
}

function now(): number {
  return performance.timeOrigin + performance.now();
}

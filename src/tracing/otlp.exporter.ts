// Sends ended spans to a collector. Source: OTLP 1.x, "OTLP/HTTP" with JSON. It must never make anybody wait for it, nor keep more than a
// bounded number: what does not fit is dropped, and said.
import { setTimeout as sleep } from 'node:timers/promises';
import type { EndedSpan } from './tracer.ts';

export type ExporterSettings = {
  /** Of the collector's traces, as it is. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** What this process is: `service.name` and the like. */
  readonly resource: Readonly<Record<string, string>>;
};

/** Counts of spans, and times in milliseconds, as OpenTelemetry's own batches have them. */
const QUEUE = 2_048;
const BATCH = 512;
const DELAY = 5_000;
const TIMEOUT = 10_000;
const RETRY_PAUSES = [1_000, 2_000, 4_000];
const CLOSE_TIMEOUT = 5_000;

const RETRYABLE = new Set([429, 502, 503, 504]);
const KINDS = { internal: 1, server: 2, client: 3, producer: 4 } as const;
const STATUS_UNSET = 0;
const STATUS_ERROR = 2;

/** @param options.onDropped told how many spans the collector did not get, and why */
export function createOtlpExporter({
  settings: { url, headers, resource },
  onDropped,
  delay = DELAY,
}: {
  settings: ExporterSettings;
  onDropped: (count: number, reason: string) => void;
  delay?: number | undefined;
}) {
  let queue: EndedSpan[] = [];
  /** In the queue, or on their way. */
  let pending = 0;
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<void> = Promise.resolve();
  const ending = new AbortController();

  const post = async (body: string): Promise<number> => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body,
      redirect: 'error',
      signal: AbortSignal.any([ending.signal, AbortSignal.timeout(TIMEOUT)]),
    });
    await response.arrayBuffer();
    return response.status;
  };

  const send = async (batch: readonly EndedSpan[]): Promise<void> => {
    const body = JSON.stringify(toRequest(batch, resource));
    for (let tries = 0; ; tries += 1) {
      const status = await post(body).catch(() => undefined);
      if (status !== undefined && status < 300) return;
      const pause = RETRY_PAUSES[tries];
      const final = status !== undefined && !RETRYABLE.has(status);
      if (final || pause === undefined || ending.signal.aborted)
        return onDropped(batch.length, status === undefined ? 'no answer' : `status ${status}`);
      await sleep(pause, undefined, { signal: ending.signal }).catch(() => undefined);
    }
  };

  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const spans = queue;
    queue = [];
    for (let start = 0; start < spans.length; start += BATCH) {
      const batch = spans.slice(start, start + BATCH);
      sending = sending
        .then(() => send(batch))
        .then(() => {
          pending -= batch.length;
        });
    }
    return sending;
  };

  return {
    /** Takes a span; it is sent within a few seconds. */
    add: (span: EndedSpan): void => {
      if (pending >= QUEUE) {
        onDropped(1, 'too many at once');
        return;
      }
      pending += 1;
      queue.push(span);
      if (queue.length === BATCH) void flush();
      else timer ??= setTimeout(() => void flush(), delay).unref();
    },

    /** Sends what is left; what the collector does not take in time is dropped. */
    close: async (): Promise<void> => {
      const limit = setTimeout(() => ending.abort(), CLOSE_TIMEOUT);
      await flush();
      clearTimeout(limit);
    },
  };
}

/** An `ExportTraceServiceRequest` in JSON: ids in hex, times as texts. */
function toRequest(spans: readonly EndedSpan[], resource: Readonly<Record<string, string>>) {
  return {
    resourceSpans: [
      {
        resource: { attributes: toAttributes(resource) },
        scopeSpans: [{ scope: { name: 'countersign' }, spans: spans.map(toSpan) }],
      },
    ],
  };
}

function toSpan({ context, parentSpanId, name, kind, startedAt, endedAt, attributes, failed }: EndedSpan) {
  return {
    traceId: context.traceId,
    spanId: context.spanId,
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    name,
    kind: KINDS[kind],
    startTimeUnixNano: nanoseconds(startedAt),
    endTimeUnixNano: nanoseconds(endedAt),
    attributes: toAttributes(attributes),
    status: { code: failed ? STATUS_ERROR : STATUS_UNSET },
  };
}

function toAttributes(attributes: EndedSpan['attributes']) {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: toValue(value) }],
  );
}

function toValue(value: string | number | boolean): Record<string, unknown> {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** Of milliseconds with fractions; whole and rest apart, because a number does not hold so many digits. */
function nanoseconds(milliseconds: number): string {
  const whole = Math.floor(milliseconds);
  return String(BigInt(whole) * 1_000_000n + BigInt(Math.floor((milliseconds - whole) * 1e6)));
}

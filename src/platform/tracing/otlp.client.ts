// Spans on their way to a collector, in batches, as OTLP over HTTP. It must never make anybody wait for it, nor keep more than a bounded
// number: what does not fit, or is not taken, is dropped.
import { type DiagLogger, DiagLogLevel, diag } from '@opentelemetry/api';
import { setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { BatchSpanProcessor, type SpanProcessor } from '@opentelemetry/sdk-trace';

/** Where spans go. `url`: of the collector's traces, as it is. */
export type ExporterSettings = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
};

/** Milliseconds: until a batch that is not full goes, and for which the collector may keep one busy with all tries. */
const DELAY = 5_000;
const PATIENCE = 15_000;

const silent = (): void => undefined;

/** @param options.onFailure told why spans were dropped: a batch that the collector did not take, or what there was no room for */
export function createOtlpProcessor({
  settings: { url, headers },
  onFailure,
  delay = DELAY,
  patience = PATIENCE,
}: {
  settings: ExporterSettings;
  onFailure: (error: unknown) => void;
  delay?: number | undefined;
  patience?: number | undefined;
}): SpanProcessor {
  // The only ways in which the SDK tells of what it gave up: of batches, and of spans beyond its bound.
  setGlobalErrorHandler(onFailure);
  const logger: DiagLogger = { error: silent, warn: onFailure, info: silent, debug: silent, verbose: silent };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  return new BatchSpanProcessor({
    exporter: new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: patience }),
    scheduledDelayMillis: delay,
    exportTimeoutMillis: patience,
  });
}

// Sends spans to a collector in batches, as OTLP over HTTP, in the background. Spans beyond a limit, and those that the
// collector refuses, are dropped.
import { type DiagLogger, DiagLogLevel, diag } from '@opentelemetry/api';
import { setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { BatchSpanProcessor, type SpanProcessor } from '@opentelemetry/sdk-trace';

/** `url`: the collector's address for traces, used unchanged. */
export type ExporterSettings = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
};

/** Milliseconds after which an incomplete batch is sent. */
const DELAY = 5_000;

/** Milliseconds after which a batch that could not be sent is dropped. */
const PATIENCE = 15_000;

const silent = (): void => undefined;

/**
 * @param options.onFailure receives the reason for dropped spans: the collector refused a batch, or the limit was
 *   reached
 */
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
  // The SDK reports dropped batches, and dropped spans beyond its limit, only in these two ways.
  setGlobalErrorHandler(onFailure);
  const logger: DiagLogger = { error: silent, warn: onFailure, info: silent, debug: silent, verbose: silent };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  return new BatchSpanProcessor({
    exporter: new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: patience }),
    scheduledDelayMillis: delay,
    exportTimeoutMillis: patience,
  });
}

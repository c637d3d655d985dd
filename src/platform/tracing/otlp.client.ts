// Sends spans to a collector, in batches, as OTLP over HTTP. No work waits for it. A limited number of spans is kept;
// further ones, and those that the collector refuses, are dropped.
import { type DiagLogger, DiagLogLevel, diag } from '@opentelemetry/api';
import { setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { BatchSpanProcessor, type SpanProcessor } from '@opentelemetry/sdk-trace';

/** The collector. `url`: its address for traces, used unchanged. */
export type ExporterSettings = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
};

/** Milliseconds: until a batch that is not full is sent, and for all tries of one batch together. */
const DELAY = 5_000;
const PATIENCE = 15_000;

const silent = (): void => undefined;

/**
 * @param options.onFailure receives the reason why spans were dropped: the collector did not take a batch, or the limit
 *   was reached
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
  // The only ways in which the SDK reports dropped batches, and dropped spans beyond its limit.
  setGlobalErrorHandler(onFailure);
  const logger: DiagLogger = { error: silent, warn: onFailure, info: silent, debug: silent, verbose: silent };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  return new BatchSpanProcessor({
    exporter: new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: patience }),
    scheduledDelayMillis: delay,
    exportTimeoutMillis: patience,
  });
}

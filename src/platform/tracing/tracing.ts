// Spans of the service's work, linked from publishing to receipt. Attributes are ids, hosts and outcomes, never a
// token, a URL's path, a body or an error's text. Without tracing, these functions only do the work.
// docs/decisions/0016-traces.md

type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** The direction of a call. Source: OpenTelemetry, "SpanKind". */
type SpanKind = 'internal' | 'server' | 'client' | 'producer';

type SpanOptions = {
  readonly kind?: SpanKind | undefined;
  /** The `traceparent` of the span that precedes this one; by default the current span. */
  readonly parent?: string | undefined;
  /** Begins a trace if there is no parent; otherwise work without a parent has no span. */
  readonly root?: boolean | undefined;
  readonly attributes?: Attributes | undefined;
};

export type Span = {
  set(attributes: Attributes): void;
  rename(name: string): void;
  /**
   * Marks the work as failed.
   * @param type a code, never a text
   */
  fail(type: string): void;
};

export type Tracing = {
  readonly on: boolean;
  /** The `traceparent` (W3C Trace Context) of the current span; undefined when there is none or it is not recorded. */
  current(): string | undefined;
  /** Runs `work` inside a span, which ends with the work and is marked as failed when it throws. */
  span<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T>;
  /** Sends the recorded spans, within a few seconds. */
  close(): Promise<void>;
};

/** The span of unrecorded work. */
export const NO_SPAN: Span = {
  set: () => undefined,
  rename: () => undefined,
  fail: () => undefined,
};

/** For processes without tracing. */
export const NO_TRACING: Tracing = {
  on: false,
  current: () => undefined,
  span: (_name, _options, work) => work(NO_SPAN),
  close: async () => undefined,
};

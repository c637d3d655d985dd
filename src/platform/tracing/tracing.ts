// Spans of the service's work, linked from publishing to receipt. Attributes are ids, hosts and outcomes; never a
// token, a URL's path, a body or an error's text. Where tracing is off, its functions do nothing else than the work.

type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** The direction of a call. Source: OpenTelemetry, "SpanKind". */
type SpanKind = 'internal' | 'server' | 'client' | 'producer';

type SpanOptions = {
  readonly kind?: SpanKind | undefined;
  /** The `traceparent` of the span that this one follows from; without it, the span under way. */
  readonly parent?: string | undefined;
  /** Begin a trace where there is no parent; otherwise such work has no span. */
  readonly root?: boolean | undefined;
  readonly attributes?: Attributes | undefined;
};

/** The span of the work under way. */
export type Span = {
  /** Adds attributes; undefined ones are left out. */
  set(attributes: Attributes): void;
  rename(name: string): void;
  /** Marks the work as failed. @param type a code, never a text */
  fail(type: string): void;
};

export type Tracing = {
  readonly on: boolean;
  /**
   * The `traceparent` (W3C Trace Context) of the span under way; undefined where there is none, or it is not recorded.
   */
  current(): string | undefined;
  /** Does the work inside a span, which ends with it, and fails when it throws. */
  span<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T>;
  /** Sends the recorded spans, and waits for that a few seconds at most. */
  close(): Promise<void>;
};

/** The span of work that is not recorded. */
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

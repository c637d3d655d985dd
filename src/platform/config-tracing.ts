// The settings of traces: OpenTelemetry's own variables, as far as they mean something here. Read by config.ts, like all others.
import { z } from 'zod';
import { headerPairs, oneOf, ratio, webUrl } from './config-values.ts';
import { SAMPLER_NAMES } from './tracing/sampler-names.ts';

/** Where collectors listen. Source: OTLP, "OTLP/HTTP Default Port" and "OTLP/HTTP Request". */
const DEFAULT_ENDPOINT = 'http://localhost:4318';
const TRACES_PATH = '/v1/traces';

/** Source: OpenTelemetry, "Environment Variable Specification" and "OpenTelemetry Protocol Exporter". */
export const TRACING_VARIABLES = {
  OTEL_SDK_DISABLED: oneOf(['true', 'false']).default('false'),
  OTEL_TRACES_EXPORTER: oneOf(['otlp', 'none']).optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: webUrl.optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: webUrl.optional(),
  OTEL_EXPORTER_OTLP_HEADERS: headerPairs.optional(),
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: headerPairs.optional(),
  OTEL_EXPORTER_OTLP_PROTOCOL: oneOf(['http/json']).optional(),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: oneOf(['http/json']).optional(),
  OTEL_SERVICE_NAME: z.string().default('countersign'),
  OTEL_TRACES_SAMPLER: oneOf(SAMPLER_NAMES).default('parentbased_always_on'),
  OTEL_TRACES_SAMPLER_ARG: ratio.default(1),
};

type Values = z.output<z.ZodObject<typeof TRACING_VARIABLES>>;

/** @returns undefined where traces are off: unless an exporter is asked for, or a collector is named */
export function tracingOf(values: Values) {
  const endpoint = values.OTEL_EXPORTER_OTLP_ENDPOINT;
  const own = values.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  const asked = values.OTEL_TRACES_EXPORTER ?? ((endpoint ?? own) ? 'otlp' : 'none');
  if (asked === 'none' || values.OTEL_SDK_DISABLED === 'true') return undefined;
  return Object.freeze({
    url: own ?? `${endpoint ?? DEFAULT_ENDPOINT}${TRACES_PATH}`,
    headers: Object.freeze({
      ...values.OTEL_EXPORTER_OTLP_HEADERS,
      ...values.OTEL_EXPORTER_OTLP_TRACES_HEADERS,
    }),
    serviceName: values.OTEL_SERVICE_NAME,
    sampler: values.OTEL_TRACES_SAMPLER,
    ratio: values.OTEL_TRACES_SAMPLER_ARG,
  });
}

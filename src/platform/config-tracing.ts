// The settings of traces: the variables of OpenTelemetry that this service supports.
import { z } from 'zod';
import { headerPairs, oneOf, ratio, webUrl } from './config-values.ts';

const SAMPLER_NAMES = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

export type SamplerName = (typeof SAMPLER_NAMES)[number];

/** Default address of a collector. Source: OTLP, "OTLP/HTTP Default Port" and "OTLP/HTTP Request". */
const DEFAULT_ENDPOINT = 'http://localhost:4318';
const TRACES_PATH = '/v1/traces';

/** Source: OpenTelemetry, "Environment Variable Specification" and "OpenTelemetry Protocol Exporter". */
export const TRACING_VARIABLES = {
  OTEL_EXPORTER_OTLP_ENDPOINT: webUrl.optional().meta({
    description:
      'address of the collector; turns traces on. `/v1/traces` is added ([operations/traces.md](operations/traces.md))',
  }),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: webUrl
    .optional()
    .meta({ description: 'address of the collector for traces, used unchanged; turns traces on' }),
  OTEL_TRACES_EXPORTER: oneOf(['otlp', 'none'])
    .optional()
    .meta({
      description: `\`otlp\` alone means \`${DEFAULT_ENDPOINT}\``,
      shown: '`otlp` where a collector is named, else `none`',
    }),
  OTEL_EXPORTER_OTLP_HEADERS: headerPairs.optional().meta({
    secret: true,
    description: '`name=value` pairs for the collector, separated by commas, percent-encoded',
  }),
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: headerPairs
    .optional()
    .meta({ secret: true, description: 'the same, for traces only' }),
  OTEL_EXPORTER_OTLP_PROTOCOL: oneOf(['http/json'])
    .optional()
    .meta({ description: 'no other', shown: '`http/json`' }),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: oneOf(['http/json'])
    .optional()
    .meta({ description: 'no other', shown: '`http/json`' }),
  OTEL_SERVICE_NAME: z
    .string()
    .default('countersign')
    .meta({ description: '`service.name`; `countersign.role` says `api` or `worker`' }),
  OTEL_TRACES_SAMPLER: oneOf(SAMPLER_NAMES).default('parentbased_always_on').meta({
    description: '`always_on`, `always_off`, `traceidratio`, and each of them with `parentbased_`',
  }),
  OTEL_TRACES_SAMPLER_ARG: ratio.default(1).meta({ description: 'ratio of the sampler, 0 to 1' }),
  OTEL_SDK_DISABLED: oneOf(['true', 'false'])
    .default('false')
    .meta({ description: '`true` turns traces off, even if other variables turn them on' }),
};

type Values = z.output<z.ZodObject<typeof TRACING_VARIABLES>>;

/** @returns undefined when traces are off: no exporter and no collector is set */
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

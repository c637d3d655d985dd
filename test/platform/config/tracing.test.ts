import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/platform/config.ts';

const tracingOf = (env: Record<string, string>) => loadConfig(env, { role: 'migrate' }).tracing;

describe('traces', () => {
  it.each([
    {},
    { OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' },
    { OTEL_SDK_DISABLED: 'true', OTEL_TRACES_EXPORTER: 'otlp' },
    { OTEL_SERVICE_NAME: 'a', OTEL_TRACES_SAMPLER: 'always_on' },
  ])('are off with %j', (env) => {
    expect(tracingOf(env)).toBeUndefined();
  });

  it.each([
    [{ OTEL_TRACES_EXPORTER: 'otlp' }, 'http://localhost:4318/v1/traces'],
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example/otlp/' },
      'https://collector.example/otlp/v1/traces',
    ],
    [
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://other:4318/traces',
      },
      'http://other:4318/traces',
    ],
  ])('are on with %j, and go to %s', (env, url) => {
    expect(tracingOf(env)).toMatchObject({
      url,
      serviceName: 'countersign',
      sampler: 'parentbased_always_on',
      ratio: 1,
      headers: {},
    });
  });

  it('carry the headers that the collector wants, and are sampled as asked', () => {
    const env = {
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Bearer%20a%3Db, x-team=one',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-team=twelve',
      OTEL_SERVICE_NAME: 'countersign-eu',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.01',
    };
    expect(tracingOf(env)).toMatchObject({
      headers: { authorization: 'Bearer a=b', 'x-team': 'twelve' },
      serviceName: 'countersign-eu',
      sampler: 'parentbased_traceidratio',
      ratio: 0.01,
    });
  });
});

// Turns tracing on if the settings require it. Otherwise its modules are not loaded.
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { reasonOf } from '../logging.ts';
import { NO_TRACING, type Tracing } from './tracing.ts';

const WARNING_PAUSE = 60_000;

/** @param role of this process in its spans: `api` or `worker` */
export async function openTracing(
  { tracing }: Pick<Config, 'tracing'>,
  { role, logger }: { role: string; logger: Pick<Logger, 'warn'> },
): Promise<Tracing> {
  if (tracing === undefined) return NO_TRACING;
  const [{ createSampler, createTracer }, { createOtlpProcessor }, { resourceFromAttributes }] =
    await Promise.all([
      import('./tracer.ts'),
      import('./otlp.client.ts'),
      import('@opentelemetry/resources'),
    ]);
  let warned = Number.NEGATIVE_INFINITY;
  return createTracer({
    sampler: createSampler(tracing.sampler, tracing.ratio),
    processor: createOtlpProcessor({
      settings: tracing,
      onFailure: (error) => {
        if (performance.now() - warned < WARNING_PAUSE) return;
        warned = performance.now();
        logger.warn(
          { event: 'tracing.export_failed', reason: reasonOf(error) },
          'the collector of traces did not take all spans',
        );
      },
    }),
    resource: resourceFromAttributes({
      'service.name': tracing.serviceName,
      'service.instance.id': randomUUID(),
      'countersign.role': role,
    }),
  });
}

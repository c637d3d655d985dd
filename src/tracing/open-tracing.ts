// Turns tracing on where the settings say so. Where they do not, nothing of it is loaded.
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { NO_TRACING, type Tracing } from './tracing.ts';

/** Milliseconds between two warnings. */
const WARNING_PAUSE = 60_000;

/** @param role what this process does, which its spans say: `api` or `worker` */
export async function openTracing(
  { tracing }: Pick<Config, 'tracing'>,
  { role, logger }: { role: string; logger: Pick<Logger, 'warn'> },
): Promise<Tracing> {
  if (tracing === undefined) return NO_TRACING;
  const [{ createTracer }, { createOtlpExporter }, { createSampler }] = await Promise.all([
    import('./tracer.ts'),
    import('./otlp.exporter.ts'),
    import('./sampler.ts'),
  ]);
  let dropped = 0;
  let warned = Number.NEGATIVE_INFINITY;
  const exporter = createOtlpExporter({
    settings: {
      url: tracing.url,
      headers: tracing.headers,
      resource: {
        'service.name': tracing.serviceName,
        'service.instance.id': randomUUID(),
        'countersign.role': role,
      },
    },
    onDropped: (count, reason) => {
      dropped += count;
      if (performance.now() - warned < WARNING_PAUSE) return;
      logger.warn({ dropped, reason }, 'the collector of traces did not take all spans');
      warned = performance.now();
      dropped = 0;
    },
  });
  return createTracer({ sampler: createSampler(tracing.sampler, tracing.ratio), exporter });
}

// The span of a traced delivery's hand-over. Source: W3C Trace Context; OpenTelemetry, messaging spans.
import { deliveryWorkflowId } from '../../platform/temporal/names.ts';
import type { Tracing } from '../../platform/tracing/tracing.ts';
import type { Work } from './relay.store.ts';

/** Runs the call; for a traced publication in a span, whose `traceparent` the call receives. */
export function traceDelivery<T>(
  tracing: Pick<Tracing, 'current' | 'span'>,
  { trace, deliveryId, generation, tenantId }: Work,
  name: string,
  call: (trace: string | undefined) => Promise<T>,
): Promise<T> {
  if (!trace) return call(undefined);
  const attributes = {
    'countersign.delivery_id': deliveryId,
    'countersign.tenant_id': tenantId,
    temporalWorkflowId: deliveryWorkflowId(deliveryId, generation),
  };
  return tracing.span(name, { kind: 'producer', parent: trace, attributes }, () =>
    call(tracing.current() ?? trace),
  );
}

// The schemas of deliveries in requests and answers.
import { z } from 'zod';
import { pageSchema } from '../../platform/http/answers.ts';
import { moment, pageParameters } from '../../platform/http/field-schemas.ts';
import { present } from '../../platform/http/present.ts';
import {
  DELIVERY_STATUSES,
  type DeliveryDetails,
  type DeliveryRecord,
  NO_WORKFLOW,
  type WorkflowPlace,
  workflowOf,
} from './delivery.ts';

const timestamp = z.iso.datetime();

export const deliveryListQuery = z.object({
  status: z.enum(DELIVERY_STATUSES).optional(),
  event_type: z.string().min(1).max(128).optional().meta({ description: 'The whole type, exactly.' }),
  event_id: z.string().min(1).max(128).optional().meta({ description: 'The id of the event.' }),
  since: moment.optional().meta({ description: 'Created at this time or later.' }),
  until: moment.optional().meta({ description: 'Created before this time.' }),
  ...pageParameters,
});

export const allDeliveriesQuery = deliveryListQuery.extend({
  subscription_id: z.uuid().optional().meta({ description: 'A subscription, also a deleted one.' }),
});

export const noParams = z.object({});
export const deliveryParams = z.object({ delivery_id: z.uuid() });
export const subscriptionDeliveryParams = z.object({ id: z.uuid(), delivery_id: z.uuid() });

const phase = z.number().min(0).nullable();

/** A delivery in answers. Source: Specification, "Webhook delivery record". */
export const deliverySchema = z
  .object({
    id: z.uuid().meta({ description: 'Sent as X-Service-Delivery.' }),
    subscription_id: z.uuid(),
    event_id: z.string(),
    event_type: z.string(),
    status: z.enum(DELIVERY_STATUSES),
    attempt_count: z.int().min(0),
    next_attempt_at: timestamp.nullable(),
    last_status_code: z.int().nullable(),
    last_error: z.string().nullable(),
    created_at: timestamp,
    completed_at: timestamp.nullable(),
    workflow_id: z.string().nullable().meta({
      description:
        'The workflow that owns its wait: its own, or that of its endpoint. Null while none is needed.',
    }),
    workflow_url: z.string().nullable().meta({ description: 'Its history, for operators.' }),
    workflow_reason: z.enum(NO_WORKFLOW).nullable().meta({
      description: 'Why there is no workflow: most deliveries need none.',
    }),
  })
  .meta({ id: 'Delivery' });

export const deliveryListSchema = pageSchema(deliverySchema, 'DeliveryList');

export const deliveryDetailsSchema = deliverySchema
  .extend({
    payload: z.record(z.string(), z.unknown()).nullable(),
    attempts: z.array(
      z.object({
        number: z.int().min(1),
        started_at: timestamp,
        duration_ms: z.int().min(0),
        phases: z
          .object({
            dns_ms: phase,
            connect_ms: phase,
            tls_ms: phase,
            first_byte_ms: phase,
            total_ms: z.number().min(0),
          })
          .meta({
            description:
              'Milliseconds; null for a phase that was not gone through, as on a connection that was kept alive. first_byte_ms runs from the sending of the request to the first byte of the answer; total_ms is all of it, the reading of the answer included.',
          }),
        status_code: z.int().nullable().meta({ description: 'Null when no answer began.' }),
        error: z
          .string()
          .nullable()
          .meta({
            description:
              'Null when delivered. http:<status>, or what kept an answer from coming: dns, connect, tls, timeout, reset, protocol, too_large or blocked_address, a colon, and a code or the phase.',
            examples: ['http:503', 'tls:CERT_HAS_EXPIRED', 'timeout:response'],
          }),
        retry_after_seconds: z.int().nullable().meta({ description: 'What the answer asked for, as sent.' }),
        response_excerpt: z.string().nullable().meta({
          description: 'The first KiB of the answer as text, without control characters.',
        }),
      }),
    ),
  })
  .meta({ id: 'DeliveryDetails' });

export function presentDelivery(record: DeliveryRecord, place: WorkflowPlace) {
  return present(deliverySchema, record, presentWorkflow(record, place));
}

export function presentDetails(details: DeliveryDetails, place: WorkflowPlace) {
  return present(deliveryDetailsSchema, details, {
    ...presentWorkflow(details, place),
    attempts: details.attempts.map((attempt) => ({ ...attempt, phases: presentPhases(attempt) })),
  });
}

function presentWorkflow(record: DeliveryRecord, place: WorkflowPlace) {
  const { id, url, reason } = workflowOf(record, place);
  return { workflow_id: id, workflow_url: url, workflow_reason: reason };
}

function presentPhases({ phases, durationMs }: DeliveryDetails['attempts'][number]) {
  return {
    dnsMs: phases.dns_ms ?? null,
    connectMs: phases.connect_ms ?? null,
    tlsMs: phases.tls_ms ?? null,
    firstByteMs: phases.first_byte_ms ?? null,
    totalMs: phases.total_ms ?? durationMs,
  };
}

// The schemas of subscriptions in requests and answers. A secret is only in the answer that generates it.
import { z } from 'zod';
import { CATALOGUE } from '../../events/catalogue.ts';
import { FILTER_PATTERN, MAX_EVENT_TYPE_LENGTH } from '../../events/filter.ts';
import { MAX_URL_LENGTH, normalizeReceiverUrl } from '../../platform/egress/url-rules.ts';
import { pageSchema } from '../../platform/http/answers.ts';
import { readFields } from '../../platform/http/field-names.ts';
import { pageParameters } from '../../platform/http/field-schemas.ts';
import { present } from '../../platform/http/present.ts';
import { ENDPOINT_STATES } from '../endpoints/endpoint-state.ts';
import { SIGNATURES } from '../signing/signatures.ts';
import { SEVERITIES } from '../standing/standing.ts';
import { ENVELOPES } from './envelope.ts';
import { RETRY_POLICY_BOUNDS } from './retry-schedule.ts';
import type { Subscription, SubscriptionDetails } from './subscription.service.ts';
import { BOUNDS, SINKS } from './subscription.ts';

const SECOND = 1_000;

const url = z
  .string()
  .min(1)
  .max(MAX_URL_LENGTH)
  .meta({
    format: 'uri',
    pattern: '^https?://[^#]+$',
    description:
      'Receiver, over HTTPS, without credentials and fragment. Plain http only for networks that the operator admits.',
    examples: ['https://hooks.example.com/countersign'],
  });
const eventTypes = z
  .array(z.string().min(1).max(128).meta({ pattern: FILTER_PATTERN }))
  .min(1)
  .max(BOUNDS.eventTypes)
  .meta({
    description: 'Event types, or patterns: a prefix such as auth.*, or * for all.',
    examples: [['orders.order.placed', 'auth.login.failure']],
  });
const envelope = z.enum(ENVELOPES).meta({
  description:
    'The form of a delivery: plain, the body {event_id, type, occurred_at, tenant_id, data}; cloudevents-structured, a CloudEvents 1.0 event as application/cloudevents+json; cloudevents-binary, its attributes as ce-* headers and its data as the body. The signatures are over the body that is sent.',
});
const description = z.string().max(1_000).nullable().meta({ description: 'For people.' });
const active = z.boolean().meta({ description: 'While false no attempt begins; deliveries wait.' });
const sink = z.enum(SINKS).meta({ description: 'Patterns are for security and audit sinks only.' });
const maxAge = z
  .int()
  .min(BOUNDS.maxAge.least)
  .max(BOUNDS.maxAge.most)
  .meta({ description: 'Replay window of a signature, in seconds.' });
const signatures = z
  .array(z.enum(SIGNATURES))
  .min(1)
  .refine((names) => new Set(names).size === names.length, { error: 'has the same signature twice' })
  .meta({
    uniqueItems: true,
    description:
      'The signatures that each delivery carries. service-webhook-v1: the X-Service-Signature headers. v1, v1a: those of Standard Webhooks 1.0, by the secret and by an ed25519 key of the tenant (/.well-known/webhook-jwks.json). jwt: a bearer token of the issuer in Authorization, with the SHA-256 of the body. The first two when it is absent.',
    examples: [['service-webhook-v1', 'v1'], ['v1a']],
  });
const rateLimit = z.int().min(BOUNDS.rateLimit.least).max(BOUNDS.rateLimit.most).nullable().meta({
  description:
    'Attempts a second at most, retries and replays included; null for no limit of its own. What is beyond it waits its turn: first attempts, then retries, then replays.',
});
const retryPolicy = z
  .strictObject({
    delays_seconds: z
      .array(
        z
          .int()
          .min(RETRY_POLICY_BOUNDS.minDelayMs / SECOND)
          .max(RETRY_POLICY_BOUNDS.maxDelayMs / SECOND),
      )
      .min(1)
      .max(RETRY_POLICY_BOUNDS.maxDelays),
  })
  .meta({ description: 'Waits after failed attempts; one attempt more than there are waits.' });
const headers = z.record(z.string().max(64), z.string().max(2_048)).meta({
  description:
    'Sent with each delivery. Values are shown as ***, which keeps them, but for `accept`, `accept-charset`, `accept-language`, `cache-control`, `pragma`, `prefer` and `priority`; any other `url` drops what is so hidden, unless it is sent again with it.',
});
const disableAfterDays = z
  .int()
  .min(BOUNDS.disableAfterDays.least)
  .max(BOUNDS.disableAfterDays.most)
  .meta({ description: 'Deactivated when nothing but failures came for so long.' });

/** A caller's signing secret. `checkSecret` checks its bytes. */
export const signingSecret = z.string().max(1_024).meta({
  minLength: 8,
  description:
    'HMAC secret: at least 32 bytes of UTF-8, at least 8 of them different; one is generated and shown once when absent.',
});

const timestamp = z.iso.datetime();

/** Source: Specification, "Webhook management". */
export const createSubscriptionBody = z
  .strictObject({
    url,
    event_types: eventTypes,
    envelope: envelope.optional(),
    description: description.optional(),
    active: active.optional(),
    sink: sink.optional(),
    secret: signingSecret.optional(),
    signatures: signatures.optional(),
    max_age: maxAge.optional(),
    rate_limit: rateLimit.optional(),
    retry_policy: retryPolicy.nullable().optional(),
    headers: headers.optional(),
    disable_after_days: disableAfterDays.optional(),
  })
  .meta({ id: 'NewWebhook' });

export const updateSubscriptionBody = createSubscriptionBody
  .omit({ secret: true })
  .partial()
  .extend({
    held: z.enum(['deliver', 'discard']).optional().meta({
      description:
        'With active true: whether untried deliveries that waited because the subscription was inactive go out, or are canceled (discard). Tried ones go on in any case, and so does what a Retry-After of the receiver holds.',
    }),
  })
  .refine((body) => body.held === undefined || body.active === true, {
    path: ['held'],
    error: 'goes with active: true',
  })
  .meta({ id: 'WebhookPatch' });

const endpoint = z
  .object({
    state: z.enum(ENDPOINT_STATES).meta({
      description:
        'open takes deliveries. failing: takes them, and nothing but failures since failing_since. held: by held_by. down: one delivery a probe. probing: the probe may pass, or is under way. releasing: what waited goes out, slowly at first. inactive: the subscription is. suspended: its tenant is.',
    }),
    hold_until: timestamp.nullable().meta({ description: 'When the hold ends; null without one.' }),
    held_by: z.enum(['operator', 'endpoint']).nullable().meta({
      description:
        'Who has it held: the endpoint by Retry-After, or the operator of this service, for all who send to this host; the latter ends with neither a retry nor another path.',
    }),
    failing_since: timestamp.nullable().meta({ description: 'The first failure since a success.' }),
    next_probe_at: timestamp.nullable().meta({
      description:
        'When an endpoint that is held or down lets one delivery go out; null when nobody can say.',
    }),
    last_error: z.string().nullable().meta({
      description: 'Of the latest failure since a success, such as http:503 or connect:ECONNREFUSED.',
    }),
    last_status_code: z.int().nullable().meta({ description: 'Its answer; null when none came.' }),
    waiting: z.int().min(0).meta({
      description: 'Deliveries that have not ended, untried or between two attempts, up to 10000.',
    }),
  })
  .meta({ description: 'How the endpoint is, and why.' });

/** A subscription in answers. Source: Specification, "Webhook subscription". */
export const subscriptionSchema = z
  .object({
    id: z.uuid(),
    url: z.string(),
    event_types: z.array(z.string()),
    envelope,
    description: z.string().nullable(),
    active: z.boolean(),
    sink: z.enum(SINKS),
    signatures: z.array(z.enum(SIGNATURES)),
    max_age: z.int(),
    rate_limit: z.int().nullable(),
    retry_policy: z.object({ delays_seconds: z.array(z.int()) }),
    headers: z.record(z.string(), z.string()),
    disable_after_days: z.int(),
    disabled_reason: z.string().nullable(),
    secret_overlap_ends_at: timestamp.nullable().meta({
      description: 'While a rotation of the signing secret is under way: when the new one takes over.',
    }),
    endpoint,
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'WebhookSubscription' });

/** A subscription where one is read. */
export const subscriptionDetailsSchema = subscriptionSchema
  .extend({
    endpoint: endpoint.extend({
      failures: z
        .array(
          z.object({
            error: z.string(),
            status_code: z.int().nullable(),
            waiting: z.int().min(0).meta({ description: 'Deliveries that have not ended.' }),
            failed: z.int().min(0).meta({ description: 'Deliveries that have failed for good.' }),
          }),
        )
        .meta({
          description:
            'Deliveries by what their latest attempt failed with, the most first: of the oldest 1000 that wait, and of the newest 1000 of the last 24 hours that have failed.',
        }),
    }),
  })
  .meta({ id: 'WebhookSubscriptionDetails' });

export const generatedSecret = z
  .string()
  .regex(/^whsec_[A-Za-z0-9+/]{43}=$/)
  .meta({
    description:
      'Only here, and only when it was generated: whsec_ and 32 random bytes in standard base64. The HMAC key is this text, whole.',
  });

export const createdSubscriptionSchema = subscriptionSchema
  .extend({
    secret: generatedSecret.optional(),
  })
  .meta({ id: 'CreatedWebhookSubscription' });

export const subscriptionListSchema = pageSchema(subscriptionSchema, 'WebhookSubscriptionList');

export const testDeliverySchema = z
  .object({ delivery_id: z.uuid(), event_id: z.string() })
  .meta({ id: 'TestDelivery' });

export const canceledDeliveriesSchema = z
  .object({ canceled: z.int().min(0) })
  .meta({ id: 'CanceledDeliveries' });

export const testBody = z
  .strictObject({
    event_type: z
      .string()
      .max(MAX_EVENT_TYPE_LENGTH)
      // A name of its own: a generator would call it as the `type` of `WebhookTestEvent`.
      .meta({
        id: 'CatalogueEventType',
        enum: CATALOGUE.map(({ type }) => type),
        description: 'A type of the catalogue, whose example is sent.',
        examples: ['wallet.tx.signed'],
      })
      .optional(),
  })
  .meta({ id: 'WebhookTest' });

export const subscriptionParams = z.object({ id: z.uuid() });

const MOST_IDS = 200;

export const subscriptionListQuery = z.object({
  url: z
    .string()
    .min(1)
    .max(MAX_URL_LENGTH)
    .overwrite((text) => normalizeReceiverUrl(text) ?? text)
    .optional()
    .meta({ description: 'The whole URL, as it was given or as it is shown.' }),
  active: z.enum(['true', 'false']).optional(),
  ids: z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(z.uuid()).max(MOST_IDS))
    .optional()
    .meta({ description: `Ids of subscriptions, with commas between, at most ${MOST_IDS}.` }),
  state: z.enum(ENDPOINT_STATES).optional().meta({ description: 'Of the endpoint.' }),
  severity: z.enum(SEVERITIES).optional().meta({ description: 'As `GET /api/v1/standing` has it.' }),
  event_type: z
    .string()
    .min(1)
    .max(MAX_EVENT_TYPE_LENGTH)
    .optional()
    .meta({ description: 'Those that get events of this type, by its name or by a pattern.' }),
  ...pageParameters,
});

/** Converts the query of a list to the filters of the service. */
export function toFilters({ active, ...rest }: z.output<typeof subscriptionListQuery>) {
  return { ...readFields(rest), active: active === undefined ? undefined : active === 'true' };
}

type Policy = z.output<typeof retryPolicy> | null | undefined;

/** Converts either body to the service's input. Fields that the body does not have are absent. */
export function toInput<Body extends { readonly retry_policy?: Policy }>(body: Body) {
  const { retry_policy: policy, ...rest } = body;
  const retryPolicy = policy && { delaysMs: policy.delays_seconds.map((delay) => delay * SECOND) };
  return { ...readFields(rest), ...(retryPolicy === undefined ? {} : { retryPolicy }) };
}

export function presentSubscription(subscription: Subscription) {
  return present(subscriptionSchema, subscription, presentPolicy(subscription));
}

export function presentSubscriptionDetails(subscription: SubscriptionDetails) {
  return present(subscriptionDetailsSchema, subscription, presentPolicy(subscription));
}

function presentPolicy({ retryPolicy }: Subscription) {
  return { retry_policy: { delaysSeconds: retryPolicy.delaysMs.map((delay) => delay / SECOND) } };
}

// Schemas of streams. Their members have the names of the OpenID Shared Signals Framework 1.0 and of RFC 8936.
import { z } from 'zod';
import { MAX_URL_LENGTH } from '../../platform/egress/url-rules.ts';
import { METHOD_URIS, STREAM_STATUSES } from './stream.ts';

const uri = z.string().min(1).max(512);
const streamId = z.uuid().meta({ description: 'The stream.' });

const delivery = z.discriminatedUnion('method', [
  z.strictObject({
    method: z.literal(METHOD_URIS.push),
    endpoint_url: z
      .string()
      .min(1)
      .max(MAX_URL_LENGTH)
      .meta({
        format: 'uri',
        pattern: '^https?://[^#]+$',
        description: 'Where tokens are pushed (RFC 8935), over HTTPS.',
        examples: ['https://receiver.example.com/events'],
      }),
    authorization_header: z.string().max(2_048).optional().meta({
      description:
        'Sent as `Authorization` with each push; shown as ***, which keeps it for the same `endpoint_url`.',
    }),
  }),
  z.strictObject({
    method: z.literal(METHOD_URIS.poll),
    endpoint_url: z.string().max(MAX_URL_LENGTH).optional().meta({ description: 'The service chooses it.' }),
  }),
]);

const eventsRequested = z
  .array(uri)
  .max(100)
  .meta({ description: 'URIs of events; unknown ones are ignored. Absent: all that are supported.' });
const description = z.string().max(1_000).meta({ description: 'For people.' });

const received = { events_requested: eventsRequested.optional(), description: description.optional() };

/** Members that the service supplies: a receiver may send them back as they are. */
const supplied = {
  iss: z.string().max(2_048).optional(),
  aud: z.union([z.string(), z.array(z.string())]).optional(),
  events_supported: z.array(z.string()).max(100).optional(),
  events_delivered: z.array(z.string()).max(100).optional(),
};

export const createStreamBody = z
  .strictObject({
    delivery: delivery.optional().meta({ description: 'Absent: the receiver polls.' }),
    ...received,
  })
  .meta({ id: 'NewSecurityStream' });
export const updateStreamBody = z
  .strictObject({ stream_id: streamId, delivery: delivery.optional(), ...received, ...supplied })
  .meta({ id: 'SecurityStreamPatch' });
export const replaceStreamBody = z
  .strictObject({ stream_id: streamId, delivery, ...received, ...supplied })
  .meta({ id: 'SecurityStreamReplacement' });

export const streamSchema = z
  .strictObject({
    stream_id: z.uuid(),
    iss: z.string().meta({ description: '`iss` of its tokens: the issuer of the tenant.' }),
    aud: z.string().meta({ description: '`aud` of its tokens: the client that created it.' }),
    events_supported: z.array(z.string()),
    events_requested: z.array(z.string()).optional(),
    events_delivered: z.array(z.string()),
    delivery: z.strictObject({
      method: z.enum([METHOD_URIS.push, METHOD_URIS.poll]),
      endpoint_url: z.string(),
      authorization_header: z.string().optional(),
    }),
    description: z.string().optional(),
  })
  .meta({ id: 'SecurityStream' });

export const streamListSchema = z
  .union([streamSchema, z.array(streamSchema)])
  .meta({ id: 'StreamOrStreams' });

export const optionalStreamQuery = z.strictObject({ stream_id: streamId.optional() });
export const streamQuery = z.strictObject({ stream_id: streamId });

const status = z.enum(STREAM_STATUSES).meta({
  description:
    'enabled: tokens are sent. paused: they are held, and sent once it is enabled. disabled: they are dropped, also those that were held.',
});
const reason = z.string().max(500).meta({ description: 'For people.' });

export const streamStatusBody = z
  .strictObject({ stream_id: streamId, status, reason: reason.optional() })
  .meta({ id: 'SecurityStreamStatusChange' });
export const streamStatusSchema = z
  .strictObject({ stream_id: z.uuid(), status, reason: reason.optional() })
  .meta({ id: 'SecurityStreamStatus' });

const subject = z.record(z.string().max(64), z.unknown()).meta({
  description:
    'An agent (RFC 9493): `iss_sub` with the issuer of the tenant and the id of the agent, or `opaque` with the id.',
  examples: [{ format: 'opaque', id: '0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b' }],
});

export const addSubjectBody = z
  .strictObject({ stream_id: streamId, subject, verified: z.boolean().optional() })
  .meta({ id: 'SecurityStreamSubject' });
export const removeSubjectBody = z
  .strictObject({ stream_id: streamId, subject })
  .meta({ id: 'RemovedSecurityStreamSubject' });

export const verifyStreamBody = z
  .strictObject({
    stream_id: streamId,
    state: z.string().max(1_024).optional().meta({ description: 'Comes back in the event.' }),
  })
  .meta({ id: 'SecurityStreamVerification' });

export const streamParams = z.strictObject({ stream_id: streamId });

const setError = z.strictObject({ err: z.string().max(256), description: z.string().max(1_024).optional() });

export const pollBody = z
  .strictObject({
    maxEvents: z.int().min(0).max(100_000).optional().meta({
      description: 'At most 100 are returned. 0: only acknowledge.',
    }),
    returnImmediately: z.boolean().optional().meta({
      description: 'By default a request without tokens to return waits for up to 30 seconds.',
    }),
    ack: z.array(z.string().max(128)).max(1_000).optional(),
    setErrs: z.record(z.string().max(128), setError).optional(),
  })
  .meta({ id: 'SecurityEventPoll' });

export const pollSchema = z
  .strictObject({
    sets: z.record(z.string(), z.string()).meta({ description: 'Security event tokens by their `jti`.' }),
    moreAvailable: z.literal(true).optional(),
  })
  .meta({ id: 'SecurityEvents' });

export const transmitterSchema = z
  .strictObject({
    spec_version: z.literal('1_0'),
    issuer: z.url(),
    jwks_uri: z.url(),
    delivery_methods_supported: z.array(z.string()),
    configuration_endpoint: z.url(),
    status_endpoint: z.url(),
    add_subject_endpoint: z.url(),
    remove_subject_endpoint: z.url(),
    verification_endpoint: z.url(),
    authorization_schemes: z.array(z.strictObject({ spec_urn: z.string() })),
    default_subjects: z.literal('ALL'),
  })
  .meta({ id: 'SecurityEventTransmitter' });

// The routes of streams: the transmitter's configuration, and the management API of SSF 1.0 with the poll of RFC 8936.
import type { Tenant } from '../../platform/context.ts';
import { created, noContent, ok } from '../../platform/http/answers.ts';
import { defineRoutes, type Route } from '../../platform/http/route.ts';
import {
  addSubjectBody,
  createStreamBody,
  optionalStreamQuery,
  pollBody,
  pollSchema,
  removeSubjectBody,
  replaceStreamBody,
  streamListSchema,
  streamParams,
  streamQuery,
  streamSchema,
  streamStatusBody,
  streamStatusSchema,
  transmitterSchema,
  updateStreamBody,
  verifyStreamBody,
} from './stream.schemas.ts';
import type { StreamService } from './stream.service.ts';
import { EVENT_JWKS_PATH, METHOD_URIS } from './stream.ts';
import type { StreamPollService } from './stream-poll.service.ts';

const COMMON = {
  tag: 'Shared signals',
  about:
    'Security event tokens by the OpenID Shared Signals Framework: a receiver learns that sessions, keys and delegations of agents have ended.',
  read: 'ssf.read',
  write: 'ssf.manage',
} as const;
const ROOT = '/api/v1/ssf';

/** Source: OpenID Shared Signals Framework 1.0, §7 and §8; RFC 8936. */
export function createStreamRoutes({
  streams,
  polls,
}: {
  streams: StreamService;
  polls: StreamPollService;
}): Route[] {
  return [...createConfigurationRoutes(streams), ...createDeliveryRoutes(streams, polls)];
}

/** What streams there are, and what each asks for. */
function createConfigurationRoutes(streams: StreamService): Route[] {
  return defineRoutes(COMMON, [
    {
      method: 'GET',
      path: '/.well-known/ssf-configuration',
      operationId: 'getSsfConfiguration',
      summary: 'Where receivers of security event tokens manage their streams',
      scope: null,
      whileSuspended: true,
      responses: {
        200: {
          description: 'The configuration',
          schema: transmitterSchema,
          headers: ['cache-control'],
        },
      },
      handler: ({ context }) =>
        ok(describeTransmitter(context.tenant), { 'cache-control': 'public, max-age=300' }),
    },
    {
      method: 'GET',
      path: `${ROOT}/streams`,
      operationId: 'getSecurityStreams',
      summary: "Read one of the client's streams, or all",
      request: { query: optionalStreamQuery },
      responses: {
        200: { description: 'The stream, or a list without `stream_id`', schema: streamListSchema },
      },
      errors: ['not_found'],
      handler: async ({ context, query: { stream_id: id } }) =>
        ok(await (id === undefined ? streams.list(context) : streams.get(context, id))),
    },
    {
      method: 'POST',
      path: `${ROOT}/streams`,
      operationId: 'createSecurityStream',
      summary: 'Create a stream',
      description:
        'At first it gets the events of all agents. It belongs to the client that creates it, and no other client sees it.',
      idempotent: true,
      request: { body: createStreamBody },
      responses: { 201: { description: 'The stream', schema: streamSchema } },
      errors: ['conflict'],
      handler: async ({ context, body }) => created(await streams.create(context, body)),
    },
    {
      method: 'PATCH',
      path: `${ROOT}/streams`,
      operationId: 'updateSecurityStream',
      summary: 'Change what the body names',
      request: { body: updateStreamBody, readOnly: [] },
      responses: { 200: { description: 'The stream, changed', schema: streamSchema } },
      errors: ['not_found'],
      handler: async ({ context, body: { stream_id: id, ...sent } }) =>
        ok(await streams.update(context, id, sent, sent)),
    },
    {
      method: 'PUT',
      path: `${ROOT}/streams`,
      operationId: 'replaceSecurityStream',
      summary: 'Replace what the receiver supplies',
      request: { body: replaceStreamBody, readOnly: [] },
      responses: { 200: { description: 'The stream, changed', schema: streamSchema } },
      errors: ['not_found'],
      handler: async ({ context, body: { stream_id: id, ...sent } }) =>
        ok(await streams.replace(context, id, sent, sent)),
    },
    {
      method: 'DELETE',
      path: `${ROOT}/streams`,
      operationId: 'deleteSecurityStream',
      summary: 'Delete a stream, with the tokens that it still holds',
      request: { query: streamQuery },
      responses: { 204: { description: 'The stream is deleted' } },
      errors: ['not_found'],
      handler: ({ context, query }) => noContent(streams.remove(context, query.stream_id)),
    },
  ]);
}

/** Whether and of whom a stream gets events, and the polling of its tokens. */
function createDeliveryRoutes(streams: StreamService, polls: StreamPollService): Route[] {
  return defineRoutes(COMMON, [
    {
      method: 'GET',
      path: `${ROOT}/status`,
      operationId: 'getSecurityStreamStatus',
      summary: 'Read the status of a stream',
      request: { query: streamQuery },
      responses: { 200: { description: 'The status', schema: streamStatusSchema } },
      errors: ['not_found'],
      handler: async ({ context, query }) => ok(await streams.status(context, query.stream_id)),
    },
    {
      method: 'POST',
      path: `${ROOT}/status`,
      operationId: 'setSecurityStreamStatus',
      summary: 'Enable, pause or disable a stream',
      request: { body: streamStatusBody },
      responses: { 200: { description: 'The status', schema: streamStatusSchema } },
      errors: ['not_found'],
      handler: async ({ context, body }) => ok(await streams.setStatus(context, body.stream_id, body)),
    },
    {
      method: 'POST',
      path: `${ROOT}/subjects/add`,
      operationId: 'addSecurityStreamSubject',
      summary: 'Let a stream have the events of an agent again',
      request: { body: addSubjectBody },
      responses: { 200: { description: 'The stream gets events of this agent' } },
      errors: ['not_found'],
      handler: async ({ context, body: { stream_id: id, subject } }) => {
        await streams.setSubject(context, id, { subject, isExcluded: false });
        return { status: 200 };
      },
    },
    {
      method: 'POST',
      path: `${ROOT}/subjects/remove`,
      operationId: 'removeSecurityStreamSubject',
      summary: 'Keep the events of an agent from a stream',
      request: { body: removeSubjectBody },
      responses: { 204: { description: 'The stream gets no events of this agent' } },
      errors: ['not_found'],
      handler: ({ context, body: { stream_id: id, subject } }) =>
        noContent(streams.setSubject(context, id, { subject, isExcluded: true })),
    },
    {
      method: 'POST',
      path: `${ROOT}/verify`,
      operationId: 'verifySecurityStream',
      summary: 'Send a verification event to a stream',
      request: { body: verifyStreamBody },
      responses: { 204: { description: 'The event will be sent' } },
      errors: ['not_found', 'subscription_inactive'],
      handler: ({ context, body }) => noContent(streams.verify(context, body.stream_id, body.state)),
    },
    {
      method: 'POST',
      path: `${ROOT}/streams/:stream_id/poll`,
      operationId: 'pollSecurityEvents',
      summary: 'Acknowledge tokens, and fetch the oldest that are not acknowledged (RFC 8936)',
      scope: 'ssf.read',
      holds: true,
      request: { params: streamParams, body: pollBody },
      exists: (context, params) => streams.exists(context, params.stream_id),
      responses: { 200: { description: 'Tokens', schema: pollSchema } },
      errors: ['conflict'],
      handler: async ({ context, params, body, hold }) =>
        ok(await polls.poll(context, params.stream_id, body, hold)),
    },
  ]);
}

/** The configuration of a transmitter (SSF §7.1). */
function describeTransmitter({ issuerUrl, baseUrl }: Tenant) {
  return {
    spec_version: '1_0',
    issuer: issuerUrl,
    jwks_uri: issuerUrl + EVENT_JWKS_PATH,
    delivery_methods_supported: Object.values(METHOD_URIS),
    configuration_endpoint: `${baseUrl}${ROOT}/streams`,
    status_endpoint: `${baseUrl}${ROOT}/status`,
    add_subject_endpoint: `${baseUrl}${ROOT}/subjects/add`,
    remove_subject_endpoint: `${baseUrl}${ROOT}/subjects/remove`,
    verification_endpoint: `${baseUrl}${ROOT}/verify`,
    authorization_schemes: [{ spec_urn: 'urn:ietf:rfc:6749' }],
    default_subjects: 'ALL',
  };
}

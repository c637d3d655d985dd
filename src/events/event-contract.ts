// The contract of events for people and generators: a component and a webhook for each type, and an AsyncAPI document.
// Pure.
import type { Tenant } from '../platform/context.ts';
import { bodySchemaOf, CATALOGUE, type EventType, exampleOf } from './catalogue.ts';

type JsonSchema = Record<string, unknown>;

/**
 * The headers of deliveries (Specification, "Delivery"), as properties of a JSON Schema. `signatures` of a subscription
 * says which of the signatures come.
 */
const HEADERS = {
  'X-Service-Event': { type: 'string', description: 'Event type.' },
  'X-Service-Delivery': { type: 'string', format: 'uuid', description: 'The same in each attempt.' },
  'X-Service-Timestamp': { type: 'string', pattern: '^[0-9]+$', description: 'Unix seconds at signing.' },
  'X-Service-Signature-Suite': {
    type: 'string',
    description: 'Names the signature: service-webhook-v1. Refuse every other.',
  },
  'X-Service-Signature-256': {
    type: 'string',
    description:
      '`sha256=` and the lowercase hex of HMAC-SHA256, keyed with the whole text of the secret (`whsec_` included, UTF-8), over six values joined by line feeds (0x0A), with none at the end: X-Service-Signature-Suite, X-Service-Timestamp, X-Service-Signature-Max-Age, X-Service-Delivery, X-Service-Event, and the raw bytes of the body.',
  },
  'X-Service-Signature-256-Next': {
    type: 'string',
    description:
      'The same by the new secret, while a secret is rotated. Take a delivery of which either one fits.',
  },
  'X-Service-Signature-Max-Age': {
    type: 'string',
    pattern: '^[0-9]+$',
    description:
      'Replay window in seconds: refuse an older X-Service-Timestamp, and one over 60 s in the future.',
  },
  'webhook-id': { type: 'string', description: 'The value of X-Service-Delivery (Standard Webhooks 1.0).' },
  'webhook-timestamp': { type: 'string', pattern: '^[0-9]+$', description: 'Unix seconds at signing.' },
  'webhook-signature': {
    type: 'string',
    description:
      'Signatures with spaces between them, over webhook-id, webhook-timestamp and the raw bytes of the body, joined by dots. `v1,` and base64 of HMAC-SHA256, keyed with the bytes whose base64 follows `whsec_` in the secret (another secret: with its text). `v1a,` and base64 of an ed25519 signature by a key of /.well-known/webhook-jwks.json. Take a delivery of which one fits.',
  },
} as const;

/** Nothing but these comes with every set of signatures. */
const ALWAYS_SENT: readonly string[] = ['X-Service-Event', 'X-Service-Delivery'];

/** Turns `auth.login.success` into `AuthLoginSuccessEvent`. */
export function componentNameOf(type: string): string {
  const words = type.split(/[._]/).filter((word) => word !== '');
  return `${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')}Event`;
}

const components = new Map<EventType, JsonSchema>();

/** A body as a component. Made once, since zod takes some 15 ms for those of all types, and more at their first use. */
function componentOf(entry: EventType): JsonSchema {
  const made = components.get(entry);
  if (made !== undefined) return made;
  const { $schema: _dialect, ...schema } = bodySchemaOf(entry);
  Object.assign((schema.properties as { readonly type: object }).type, { type: 'string' });
  const component = { ...schema, description: entry.description };
  components.set(entry, component);
  return component;
}

/** The answers of a receiver (docs/receiving.md, "What to answer"). */
const ANSWERS = {
  '2XX': ['Delivered', 'Delivered'],
  '4XX': ['DeliveryRefused', '400, 413, 415, 422: refused for good. 410: gone. Others: sent again'],
  '5XX': ['DeliveryFailed', 'Sent again'],
} as const;

/**
 * What openapi.json says of events: a webhook for each type of the catalogue (OpenAPI 3.1 §4.8.1), and its components;
 * in a step for each type.
 */
export function* describeWebhooks() {
  const parameters = Object.entries(HEADERS).map(([name, { description, ...schema }]) => [
    name.toLowerCase(),
    { name, in: 'header', required: ALWAYS_SENT.includes(name), description, schema },
  ]);
  const webhooks = CATALOGUE.map((entry) => [entry.type, { post: describeWebhook(entry) }]);
  const schemas: Record<string, JsonSchema> = {};
  for (const entry of CATALOGUE) {
    schemas[componentNameOf(entry.type)] = componentOf(entry);
    yield;
  }
  const responses = Object.values(ANSWERS).map(([name, description]) => [name, { description }]);
  return {
    webhooks: Object.fromEntries(webhooks) as JsonSchema,
    components: {
      schemas,
      parameters: Object.fromEntries(parameters) as JsonSchema,
      responses: Object.fromEntries(responses) as JsonSchema,
    },
  };
}

function describeWebhook(entry: EventType): JsonSchema {
  const name = componentNameOf(entry.type);
  const schema = { $ref: `#/components/schemas/${name}` };
  return {
    operationId: `on${name}`,
    summary: entry.description,
    tags: ['Webhooks'],
    security: [],
    parameters: Object.keys(HEADERS).map((header) => ({
      $ref: `#/components/parameters/${header.toLowerCase()}`,
    })),
    requestBody: {
      required: true,
      content: { 'application/json': { schema, example: exampleOf(entry) } },
    },
    responses: Object.fromEntries(
      Object.entries(ANSWERS).map(([status, [answer]]) => [
        status,
        { $ref: `#/components/responses/${answer}` },
      ]),
    ),
  };
}

/**
 * Describes what a tenant's subscriptions can get (AsyncAPI 3.0).
 * @param ownTypes event types of the tenant that are not in the catalogue
 */
export function createAsyncApi(
  { id, slug, name, baseUrl }: Pick<Tenant, 'id' | 'slug' | 'name' | 'baseUrl'>,
  ownTypes: readonly string[],
): JsonSchema {
  const entries = [
    ...CATALOGUE.map((entry) => ({
      ...entry,
      schema: componentOf(entry),
      examples: [exampleOf(entry)],
    })),
    ...ownTypes.map((type) => ({ type, description: OWN, schema: ownComponentOf(type), examples: [] })),
  ];
  const named = uniqueNames(entries.map(({ type }) => type));
  const names = entries.map(({ type }) => named.get(type) ?? type);
  const messages = entries.map(({ type, description, examples }, index) => ({
    name: type,
    title: type,
    summary: description,
    contentType: 'application/json',
    headers: { $ref: '#/components/schemas/DeliveryHeaders' },
    payload: { $ref: `#/components/schemas/${names[index]}` },
    ...(examples.length === 0 ? {} : { examples: examples.map((payload) => ({ name: 'example', payload })) }),
  }));
  const byName = <T>(values: readonly T[]) =>
    Object.fromEntries(names.map((key, index) => [key, values[index]]));
  return {
    asyncapi: '3.0.0',
    id: `urn:uuid:${id}`,
    info: {
      title: `Events of ${name}`,
      version: '1.0.0',
      description: `What subscriptions of the tenant ${slug} get, at ${baseUrl}/api/v1/webhooks. Deliveries are signed, at least once, in no order. Payloads are those of the envelope \`plain\`; in an envelope of CloudEvents 1.0, \`id\`, \`type\`, \`time\` and \`data\` are \`event_id\`, \`type\`, \`occurred_at\` and \`data\`, and \`source\` is \`urn:uuid:\` and \`tenant_id\`.`,
    },
    defaultContentType: 'application/json',
    channels: {
      subscription: {
        address: null,
        title: 'The URL of a subscription',
        messages: byName(names.map((key) => ({ $ref: `#/components/messages/${key}` }))),
      },
    },
    operations: {
      deliver: {
        action: 'send',
        channel: { $ref: '#/channels/subscription' },
        summary: 'Send an event to the subscriptions that ask for its type',
        bindings: { http: { method: 'POST', bindingVersion: '0.3.0' } },
      },
    },
    components: {
      messages: byName(messages),
      schemas: {
        DeliveryHeaders: { type: 'object', properties: HEADERS, required: ALWAYS_SENT },
        ...byName(entries.map(({ schema }) => schema)),
      },
    },
  };
}

const OWN = 'A type of this tenant.';

/** The body of a tenant's own type: nothing is known of its `data`. */
function ownComponentOf(type: string): JsonSchema {
  const [{ properties, ...schema } = {}] = CATALOGUE.slice(0, 1).map(componentOf);
  const { data: _data, type: _type, ...envelope } = properties as JsonSchema;
  return {
    ...schema,
    description: OWN,
    properties: { ...envelope, type: { const: type, type: 'string' }, data: { type: 'object' } },
  };
}

/** Names of components; types whose names are the same, such as `a.b_c` and `a.b.c`, get numbers. */
function uniqueNames(types: readonly string[]): Map<string, string> {
  const taken = new Set<string>();
  return new Map(
    types.map((type) => {
      const base = componentNameOf(type);
      let name = base;
      for (let number = 2; taken.has(name); number += 1) name = `${base}${number}`;
      taken.add(name);
      return [type, name];
    }),
  );
}

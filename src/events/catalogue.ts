// The catalogue of event types, and the types that only the service may emit. A tenant's own types need no entry.
import { z } from 'zod';
import { ADMINISTRATION } from './catalogue/administration.ts';
import { CHAIN, VAULT, WALLET } from './catalogue/assets.ts';
import { AUTHENTICATION, MFA_AND_RISK } from './catalogue/authentication.ts';
import { COMMERCE } from './catalogue/commerce.ts';
import type { EventType } from './catalogue/event-type.ts';
import { EXAMPLE } from './catalogue/fields.ts';
import { SECURITY } from './catalogue/security.ts';
import { ORGANIZATIONS, SSO, TENANT_USERS } from './catalogue/tenants.ts';
import { WEBHOOKS } from './catalogue/webhooks.ts';
import type { JsonObject } from './event.ts';
import { candidatesOf } from './filter.ts';

export type { EventType } from './catalogue/event-type.ts';

type JsonSchema = Record<string, unknown>;

const DIALECT = 'https://json-schema.org/draft/2020-12/schema';

/** All known types, by name. Source: Specification, "Event types". */
export const CATALOGUE: readonly EventType[] = [
  AUTHENTICATION,
  MFA_AND_RISK,
  TENANT_USERS,
  ADMINISTRATION,
  VAULT,
  WALLET,
  CHAIN,
  SSO,
  ORGANIZATIONS,
  COMMERCE,
  SECURITY,
  WEBHOOKS,
]
  .flat()
  .sort((a, b) => (a.type < b.type ? -1 : 1));

const BY_TYPE: ReadonlyMap<string, EventType> = new Map(CATALOGUE.map((entry) => [entry.type, entry]));

export const CATEGORIES = [...new Set(CATALOGUE.map(({ category }) => category))].sort();

/** All types with these prefixes are reserved for the service, including future types. */
const RESERVED_PREFIXES = ['admin.agent.', 'admin.issuer.', 'webhook.'] as const;

const RESERVED_TYPES = CATALOGUE.filter(({ reserved }) => reserved).map(({ type }) => type);

/** Finds the catalogue's entry of a type; undefined for a tenant's own type. */
export function findEventType(type: string): EventType | undefined {
  return BY_TYPE.get(type);
}

/** @returns whether only the service may emit the type. Source: Specification, "Event types". */
export function isReserved(type: string): boolean {
  return BY_TYPE.get(type)?.reserved === true || RESERVED_PREFIXES.some((prefix) => type.startsWith(prefix));
}

/** The JSON Schema (2020-12) that matches reserved types. */
export const RESERVED_TYPE = {
  anyOf: [
    { enum: RESERVED_TYPES },
    ...RESERVED_PREFIXES.map((prefix) => ({ pattern: `^${prefix.replaceAll('.', '\\.')}` })),
  ],
};

/**
 * Compares an event of the service with the catalogue.
 * @returns a description of the difference; undefined without a difference, and for a type that is not reserved
 */
export function findMismatch(type: string, data: JsonObject): string | undefined {
  if (!isReserved(type)) return undefined;
  const entry = BY_TYPE.get(type);
  if (entry === undefined) return `${type} is not in the catalogue`;
  const { error } = entry.data.safeParse(data);
  return error === undefined ? undefined : `${type} carries other data than the catalogue says: ${error}`;
}

/** @returns the JSON Schema (2020-12) of an event's `data` */
export function dataSchemaOf({ data }: EventType): JsonSchema {
  return { $schema: DIALECT, ...bareSchemaOf(data) };
}

/** @returns the JSON Schema (2020-12) of a delivery's body for one event type */
export function bodySchemaOf({ type, data }: EventType): JsonSchema {
  return {
    $schema: DIALECT,
    type: 'object',
    properties: {
      event_id: { type: 'string', minLength: 1, maxLength: 128 },
      type: { const: type },
      occurred_at: { type: 'string', format: 'date-time' },
      tenant_id: { type: 'string', format: 'uuid' },
      data: bareSchemaOf(data),
    },
    required: ['event_id', 'type', 'occurred_at', 'tenant_id', 'data'],
    additionalProperties: false,
  };
}

export function exampleOf({ type, example }: EventType) {
  return {
    event_id: EXAMPLE.eventId,
    type,
    occurred_at: EXAMPLE.moment,
    tenant_id: EXAMPLE.tenantId,
    data: example,
  };
}

function bareSchemaOf(data: z.ZodType): JsonSchema {
  const { $schema: _dialect, ...schema } = z.toJSONSchema(data, {
    io: 'input',
    // States explicitly that further members are allowed.
    override: ({ zodSchema, jsonSchema }) => {
      // The format implies zod's pattern, which is a page long.
      if (zodSchema._zod.def.type === 'string' && jsonSchema.format !== undefined) delete jsonSchema.pattern;
      if (typeof jsonSchema.additionalProperties === 'object') jsonSchema.additionalProperties = true;
    },
  });
  return schema;
}

/**
 * The filters of subscriptions that get an event of a successful authentication. Most tenants have no such
 * subscription.
 */
export const AUTHENTICATION_FILTERS = candidatesOf(['auth.login.success', 'auth.token.issued']);

// Schemas of agents in requests and answers. Limits keep an access token below 8 KiB, because it contains the agent's
// name and capabilities.
import { z } from 'zod';
import type { Tenant } from '../../platform/context.ts';
import { pageSchema } from '../../platform/http/answers.ts';
import {
  audience as audienceSchema,
  dpopBoundAccessTokens,
  displayName as name,
  pageParameters,
} from '../../platform/http/field-schemas.ts';
import { present } from '../../platform/http/present.ts';
import { AGENT_SCOPES } from '../../platform/scopes.ts';
import { AGENT_STATUSES, type Agent, resolveAudience } from './agent.ts';

/** Greatest size of each field as JSON, in bytes of UTF-8. */
const LARGEST = { capabilities: 3_072, metadata: 16_384 } as const;

const isSmall = (value: unknown, most: number) =>
  new TextEncoder().encode(JSON.stringify(value)).length <= most;
const isUnique = (values: readonly string[]) => new Set(values).size === values.length;

const line = (most: number) =>
  z
    .string()
    .min(1)
    .max(most)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: refusing them is the purpose
    .regex(/^[^\x00-\x1f\x7f]*$/, 'must not contain control characters');

const description = z.string().max(2_000).nullable().meta({ description: 'For people.' });
const owner = line(200)
  .nullable()
  .meta({ description: 'The person or team that answers for the agent, such as an address. For people.' });
const purpose = z.string().max(2_000).nullable().meta({ description: 'Why the agent exists. For people.' });
const capabilities = z
  .array(line(100))
  .max(50)
  .refine(isUnique, 'must not name a capability twice')
  .refine(
    (values) => isSmall(values, LARGEST.capabilities),
    `must be at most ${LARGEST.capabilities} bytes of JSON together`,
  )
  .meta({
    uniqueItems: true,
    description:
      'Declared capabilities, carried in the access token. To give one needs the scope `agents:capabilities`.',
  });
const audience = audienceSchema.meta({ description: 'Audience of a resource server.' });
const audiences = z
  .array(audience)
  .max(20)
  .refine(isUnique, 'must not name an audience twice')
  .meta({ uniqueItems: true, description: 'Audiences besides it that `resource` may choose (RFC 8707).' });
const scopes = z
  .array(z.enum(AGENT_SCOPES))
  .min(1, 'must name at least one scope')
  .refine(isUnique, 'must not name a scope twice')
  .meta({ uniqueItems: true, description: 'What the agent may ask for; all that agents may, unless said.' });
const metadata = z
  .record(z.string().min(1).max(100), z.json())
  .refine((value) => isSmall(value, LARGEST.metadata), `must be at most ${LARGEST.metadata} bytes of JSON`)
  .meta({ description: "The tenant's own data." });

const timestamp = z.iso.datetime();

/** Source: Specification, "Agent". */
export const agentSchema = z
  .object({
    id: z.uuid(),
    name: z.string(),
    description: z.string().nullable(),
    owner: z.string().nullable(),
    purpose: z.string().nullable(),
    capabilities: z.array(z.string()),
    status: z.enum(AGENT_STATUSES),
    audience: z.string(),
    audiences: z.array(z.string()),
    scopes: z.array(z.string()),
    metadata: z.record(z.string(), z.unknown()),
    dpop_bound_access_tokens: z.boolean(),
    open_enrollment_tokens: z.int().meta({
      description: 'How many of its enrollment tokens can still register a key.',
    }),
    created_at: timestamp,
    updated_at: timestamp,
    registration: z
      .object({
        complete: z.boolean(),
        active: z.boolean(),
        verified: z.boolean(),
        scoped: z.boolean().meta({
          description:
            'Whether its scopes are limited to its job: true for some of those that agents may have, false for all of them, the default.',
        }),
        audited: z.boolean(),
      })
      .meta({ description: 'Whether the agent is correctly registered, and each part of the answer.' }),
  })
  .meta({ id: 'Agent' });

export const agentListSchema = pageSchema(agentSchema, 'AgentList');

export const agentParams = z.object({ agent_id: z.uuid() });

export const agentListQuery = z.object({
  ...pageParameters,
  status: z.enum(AGENT_STATUSES).optional(),
  name: z.string().min(1).max(200).optional().meta({ description: 'The whole name, exactly.' }),
  capability: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .meta({ description: 'Those that declare this capability.' }),
  scope: z.enum(AGENT_SCOPES).optional().meta({ description: 'Those that may ask for this scope.' }),
});

/** Source: Specification, "Agent management". */
export const createAgentBody = z
  .strictObject({
    name,
    description: description.optional(),
    owner: owner.optional(),
    purpose: purpose.optional(),
    capabilities: capabilities.optional(),
    audience: audience.nullable().optional(),
    audiences: audiences.optional(),
    scopes: scopes.optional(),
    metadata: metadata.optional(),
    dpop_bound_access_tokens: dpopBoundAccessTokens.optional(),
  })
  .meta({ id: 'NewAgent' });

export const updateAgentBody = createAgentBody.partial().meta({ id: 'AgentPatch' });

/** Converts an agent to its JSON answer. An agent without an audience has the tenant's audience. */
export function presentAgent(agent: Agent, tenant: Tenant) {
  return present(agentSchema, agent, { audience: resolveAudience(agent, tenant) });
}

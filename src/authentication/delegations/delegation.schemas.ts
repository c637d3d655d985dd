// Schemas of delegations in requests and answers.
import { z } from 'zod';
import { pageSchema } from '../../platform/http/answers.ts';
import { audience, pageParameters } from '../../platform/http/field-schemas.ts';
import { present } from '../../platform/http/present.ts';
import { AGENT_SCOPES } from '../../platform/scopes.ts';
import { issuer, sub, subject } from '../users/user.schemas.ts';
import { DELEGATION_STATUSES, type Delegation } from './delegation.ts';

const timestamp = z.iso.datetime();

/** Source: Specification, "Anchor and delegation". */
export const delegationSchema = z
  .strictObject({
    id: z.uuid(),
    subject: z.strictObject({
      issuer: z.string().nullable().meta({ description: 'null: the user is forgotten.' }),
      sub: z.string().nullable(),
      id: z.uuid().meta({ description: 'The `sub` of tokens in which an agent acts for this user.' }),
    }),
    agent_id: z.uuid(),
    scopes: z.array(z.string()),
    audience: z.string().nullable().meta({ description: 'null: any audience that the agent may have.' }),
    status: z.enum(DELEGATION_STATUSES),
    expires_at: timestamp,
    created_at: timestamp,
    revoked_at: timestamp.nullable(),
    revoked_reason: z.string().nullable(),
  })
  .meta({ id: 'Delegation' });

/** An answer that is kept for a repeated request names no user. */
export const createdDelegationSchema = delegationSchema
  .extend({ subject: delegationSchema.shape.subject.optional().describe('Absent in a replay') })
  .meta({ id: 'CreatedDelegation' });

export const delegationListSchema = pageSchema(delegationSchema, 'DelegationList');

export const delegationParams = z.object({ id: z.uuid() });

export const delegationListQuery = z
  .object({
    ...pageParameters,
    agent_id: z.uuid().optional(),
    status: z.enum(DELEGATION_STATUSES).optional(),
    subject_issuer: issuer.optional(),
    subject_sub: sub.optional(),
  })
  .refine((query) => (query.subject_issuer === undefined) === (query.subject_sub === undefined), {
    path: ['subject_sub'],
    message: 'goes with subject_issuer: only both name a user',
  });

export const createDelegationBody = z
  .strictObject({
    subject,
    agent_id: z.uuid(),
    scopes: z
      .array(z.enum(AGENT_SCOPES))
      .min(1)
      .refine((values) => new Set(values).size === values.length, 'must not name a scope twice')
      .meta({
        uniqueItems: true,
        description: "What the agent may do for the user; within the agent's own scopes.",
      }),
    audience: audience.nullable().optional(),
    expires_at: z.iso
      .datetime({ offset: true })
      .meta({ description: 'In the future, at most a year from now.' }),
  })
  .meta({ id: 'NewDelegation' });

export const revokeDelegationBody = z
  .strictObject({
    reason: z
      .string()
      .min(1)
      .max(500)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: refusing them is the purpose
      .regex(/^[^\x00-\x1f\x7f-\x9f]*$/, 'must not contain control characters')
      .optional()
      .meta({ description: 'For people.' }),
  })
  .meta({ id: 'DelegationRevocation' });

/** Converts a delegation to its JSON answer. */
export function presentDelegation(delegation: Delegation) {
  return present(delegationSchema, delegation, { subject: { ...delegation.subject } });
}

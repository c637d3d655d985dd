// Schemas of enrollment. Only the answer to the creation of a token contains its text.
import { z } from 'zod';
import type { Tenant } from '../../platform/context.ts';
import { pageSchema } from '../../platform/http/answers.ts';
import { idFields, pageParameters } from '../../platform/http/field-schemas.ts';
import { present } from '../../platform/http/present.ts';
import { registerKeyBody } from '../keys/key.schemas.ts';
import type { CreatedEnrollmentToken } from './enrollment.service.ts';
import type { StoredEnrollmentToken } from './enrollment.store.ts';
import { ENROLLMENT_STATUSES, statusAt } from './enrollment.ts';

/** Path of the agent's route below the issuer's address. */
export const ENROLL_PATH = '/auth/agent/enroll';

const timestamp = z.iso.datetime();

export const createdEnrollmentSchema = z
  .object({
    ...idFields('enrollment_token_id'),
    token: z
      .string()
      .optional()
      .meta({ description: 'Shown once, for the agent; absent when an `idempotency-key` is replayed.' }),
    expires_at: timestamp,
    tenant_id: z.uuid().meta({ description: 'Second line of the proof.' }),
    agent_id: z.uuid().meta({ description: 'Third line of the proof.' }),
    enroll_url: z.url().meta({ description: 'Where the agent presents the token.' }),
  })
  .meta({ id: 'CreatedEnrollmentToken' });

const enrollmentSchema = z
  .object({
    ...idFields('enrollment_token_id'),
    agent_id: z.uuid(),
    status: z.enum(ENROLLMENT_STATUSES),
    created_at: timestamp,
    expires_at: timestamp,
    used_at: timestamp.nullable(),
    revoked_at: timestamp.nullable(),
    key_id: z.uuid().nullable().meta({ description: 'The key that was registered with it.' }),
  })
  .meta({ id: 'EnrollmentToken' });

export const enrollmentListSchema = pageSchema(enrollmentSchema, 'EnrollmentTokenList');

export const agentEnrollmentsParams = z.object({ agent_id: z.uuid() });
export const enrollmentParams = z.object({ agent_id: z.uuid(), enrollment_token_id: z.uuid() });
export const enrollmentListQuery = z.object(pageParameters);

export const enrollBody = registerKeyBody
  .extend({
    token: z.string().min(1).max(200).meta({ description: 'The enrollment token.' }),
    proof: z.string().min(1).max(200).meta({
      description:
        'Signature in base64 by this key over SERVICE-KEY-PROOF-V1, tenant id, agent id and fingerprint, joined by line feeds.',
    }),
  })
  .meta({ id: 'AgentEnrollment' });

/** Converts a new token to the only answer that contains its text. */
export function presentCreatedEnrollment({ enrollment, token }: CreatedEnrollmentToken, tenant: Tenant) {
  return present(createdEnrollmentSchema, enrollment, {
    enrollment_token_id: enrollment.id,
    token,
    tenant_id: tenant.id,
    enroll_url: tenant.issuerUrl + ENROLL_PATH,
  });
}

/** Converts a token to its JSON answer, without its text, with its status at the time of the read. */
export function presentEnrollment(token: StoredEnrollmentToken) {
  return present(enrollmentSchema, token, {
    enrollment_token_id: token.id,
    status: statusAt(token, token.readAt),
  });
}

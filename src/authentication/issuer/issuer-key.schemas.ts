// Schemas of the schedule of issuer keys in requests and answers.
import { z } from 'zod';
import { present } from '../../platform/http/present.ts';
import { entityWorkflowId, workflowUrl } from '../../platform/temporal/names.ts';
import { ISSUER_KEY_STATES, type Schedule, stateOf } from './key-schedule.ts';

const timestamp = z.iso.datetime();

const issuerKeySchema = z
  .strictObject({
    kid: z.string().meta({ description: 'RFC 7638 thumbprint of the key.' }),
    algorithm: z.enum(['ES256', 'EdDSA', 'RS256']).meta({
      description: 'RS256: a key that signs security event tokens, and nothing else.',
    }),
    state: z.enum(ISSUER_KEY_STATES).meta({
      description:
        'published: in the JWKS, and signs from activate_at. active: signs. retired: signs no more, and what it signed verifies until remove_at. revoked: not in the JWKS, and what it signed is refused.',
    }),
    published_at: timestamp.meta({ description: 'Since then it is in the JWKS.' }),
    activate_at: timestamp.meta({ description: 'From then on it signs.' }),
    retire_at: timestamp
      .nullable()
      .meta({ description: 'When the next key begins to sign; null while none is published.' }),
    remove_at: timestamp.nullable().meta({
      description: 'When it leaves the JWKS: no access token that it signed lives any more.',
    }),
    revoked_at: timestamp.nullable(),
  })
  .meta({ id: 'IssuerKey' });

export const issuerKeyScheduleSchema = z
  .strictObject({
    data: z.array(issuerKeySchema).meta({
      description:
        'All keys, the earliest activation first; those of security event tokens (RS256) come last.',
    }),
    next_rotation_at: timestamp.meta({ description: 'When another key begins to sign.' }),
    workflow_id: z.string(),
    workflow_url: z.string().meta({ description: 'Its history, for operators.' }),
  })
  .meta({ id: 'IssuerKeySchedule' });

export const issuerKeyParams = z.object({ kid: z.string().regex(/^[A-Za-z0-9_-]{43}$/) });

const reason = z.string().min(1).max(500).meta({ description: 'For the audit log.' });

export const rotateIssuerKeysBody = z
  .strictObject({ reason: reason.optional() })
  .meta({ id: 'IssuerKeyRotation' });

export const revokeIssuerKeyBody = z.strictObject({ reason }).meta({ id: 'IssuerKeyRevocation' });

/**
 * Converts the schedule to its JSON answer.
 * @param schedules of the keys of access tokens, and of those of security event tokens
 * @param tenantId owner of the keys @param nextRotationAt when another key begins to sign
 * @param place address of Temporal's web UI
 */
export function presentSchedule(
  schedules: readonly Schedule[],
  { tenantId, nextRotationAt }: { tenantId: string; nextRotationAt: Date },
  place: { readonly uiUrl: string; readonly namespace: string },
) {
  const workflowId = entityWorkflowId('issuerKeyRotation', tenantId);
  const shownOf = (schedule: Schedule) =>
    schedule.keys
      .filter(({ removeAt }) => removeAt === null || removeAt > schedule.now)
      .map((key) => ({ ...key, state: stateOf(key, schedule) }));
  return present(issuerKeyScheduleSchema, {
    data: schedules.flatMap(shownOf),
    nextRotationAt,
    workflowId,
    workflowUrl: workflowUrl(place, workflowId),
  });
}

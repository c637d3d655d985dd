// Schemas of key rotations in requests and answers.
import { z } from 'zod';
import { pageSchema } from '../../platform/http/answers.ts';
import { idFields, pageParameters } from '../../platform/http/field-schemas.ts';
import { present } from '../../platform/http/present.ts';
import { entityWorkflowId, workflowUrl } from '../../platform/temporal/names.ts';
import { registerKeyBody } from './key.schemas.ts';
import { END_REASONS, type KeyRotation, ROTATION_DEFAULTS, ROTATION_STATES } from './rotation.ts';

/** Address of Temporal's web UI. */
export type WorkflowPlace = { readonly uiUrl: string; readonly namespace: string };

const timestamp = z.iso.datetime();
const LONGEST = 315_360_000;

/** Source: Specification, "Key state". */
export const rotationSchema = z
  .strictObject({
    ...idFields('rotation_id'),
    agent_id: z.uuid(),
    old_key_id: z.uuid(),
    new_key_id: z.uuid(),
    state: z.enum(ROTATION_STATES).meta({
      description:
        'waiting_for_switch: the agent has not authenticated with the new key yet. overlapping: both keys work, the old one until sunset_at. completed: the old key is revoked. canceled: by hand. aborted: the new key was revoked or deprecated.',
    }),
    end_reason: z.enum(END_REASONS).nullable(),
    overlap_seconds: z.int(),
    deadline_at: timestamp.meta({
      description: 'admin.agent.key.rotation_stalled is emitted when the agent has not switched by then.',
    }),
    switched_at: timestamp.nullable().meta({ description: "The new key's first authentication." }),
    stalled_at: timestamp.nullable().meta({ description: 'When the missed deadline was noticed.' }),
    sunset_at: timestamp.nullable().meta({ description: "The old key's." }),
    created_at: timestamp,
    ended_at: timestamp.nullable(),
    workflow_id: z.string(),
    workflow_url: z.string().meta({ description: 'Its history, for operators.' }),
  })
  .meta({ id: 'KeyRotation' });

export const rotationListSchema = pageSchema(rotationSchema, 'KeyRotationList');

export const rotationParams = z.object({ agent_id: z.uuid(), rotation_id: z.uuid() });

export const rotationListQuery = z.object({
  ...pageParameters,
  state: z.enum(ROTATION_STATES).optional(),
});

const { algorithm, public_key, label } = registerKeyBody.shape;

const newKey = {
  algorithm,
  public_key,
  label,
  overlap_seconds: z.int().min(1).max(LONGEST).default(ROTATION_DEFAULTS.overlapSeconds).meta({
    description: 'From the first authentication with the new key to the sunset of the old one.',
  }),
  deadline_seconds: z.int().min(1).max(LONGEST).default(ROTATION_DEFAULTS.deadlineSeconds).meta({
    description: 'For the agent to authenticate with the new key; after that an event warns, once.',
  }),
};

export const beginRotationBody = z
  .strictObject({ old_key_id: z.uuid(), ...newKey })
  .meta({ id: 'NewKeyRotation' });

const proof = z.string().min(1).max(200);

/** A request of an agent for itself. Exactly one of two fields names the old key. */
export const beginOwnRotationBody = z
  .strictObject({
    old_key_id: z.uuid().optional(),
    old_key_fingerprint: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .optional()
      .meta({ description: 'Its fingerprint, or another by which challenges find the key.' }),
    ...newKey,
    proof: z.strictObject({ old_key: proof, new_key: proof }).meta({
      description:
        "Signatures in base64 by the old and by the new key, both over SERVICE-KEY-ROTATION-V1, tenant id, agent id, the old key's fingerprint and the new key's, joined by line feeds.",
    }),
  })
  .refine(
    ({ old_key_id, old_key_fingerprint }) =>
      (old_key_id === undefined) !== (old_key_fingerprint === undefined),
    'must name the old key by exactly one of old_key_id and old_key_fingerprint',
  )
  .meta({ id: 'OwnKeyRotation' });

export const cancelRotationBody = z
  .strictObject({ reason: z.string().min(1).max(500).optional() })
  .meta({ id: 'KeyRotationCancellation' });

/** Converts a rotation to its JSON answer. @param place address of Temporal's web UI */
export function presentRotation(rotation: KeyRotation, place: WorkflowPlace) {
  const workflowId = entityWorkflowId('agentKeyRotation', rotation.oldKeyId);
  return present(rotationSchema, rotation, {
    rotation_id: rotation.id,
    workflow_id: workflowId,
    workflow_url: workflowUrl(place, workflowId),
  });
}

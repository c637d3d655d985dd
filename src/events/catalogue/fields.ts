// The fields of event types, each with its value in examples; and those that several event types share.
import { z } from 'zod';
import type { JsonObject, JsonValue } from '../event.ts';

const EXAMPLES = z.registry<{ readonly example: JsonValue }>();

/** Ids and times of the examples. */
export const EXAMPLE = {
  agentId: '0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b',
  keyId: '0199a1b2-8d4e-7f50-9b6c-7d8e9f0a1b2c',
  subscriptionId: '0199a1b2-e3a4-75b6-91c2-3d4e5f607182',
  eventId: '0199a1b3-27e8-79fa-95b6-718293041526',
  tenantId: '0199a1b3-38f9-7a0b-86c7-829304152637',
  userId: '0199a1b3-16d7-78e9-84f5-607182930415',
  kid: 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs',
  otherKid: 'cn-I_WNMClehiVp51i_0VpOENW1upEerA8sEam5hn-s',
  fingerprint: '3f79bb7b435b05321651daefd374cdc681dc06faa65e374e38337b88ca046dea',
  address: '203.0.113.7',
  moment: '2026-05-04T09:30:00.000Z',
} as const;

/** Gives a field its value in the examples of the event types that have it. */
export function shown<Field extends z.ZodType>(field: Field, example: z.input<Field> | undefined): Field {
  const copy = field.clone();
  if (example !== undefined) EXAMPLES.add(copy, { example: example as JsonValue });
  return copy;
}

/**
 * @returns the values of fields in an example, in their order; optional fields without one are left out
 * @throws Error for another field without one
 */
export function exampleOf(fields: z.core.$ZodShape): JsonObject {
  const values = Object.entries(fields).flatMap(([name, field]) => {
    const value = shownIn(field);
    if (value === undefined && !(field instanceof z.ZodOptional))
      throw new Error(`the field ${name} of an event type has no example`);
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(values);
}

function shownIn(field: z.core.$ZodType): JsonValue | undefined {
  const known = EXAMPLES.get(field);
  if (known !== undefined) return known.example;
  if (field instanceof z.ZodNullable || field instanceof z.ZodOptional) return shownIn(field.unwrap());
  if (field instanceof z.ZodLiteral) return field.value as JsonValue;
  return field instanceof z.ZodObject ? exampleOf(field.shape) : undefined;
}

/** @param description the entity that the UUID names */
export const id = (description: string, example?: string) => shown(z.uuid().describe(description), example);

export const text = (description: string, example?: string) =>
  shown(z.string().describe(description), example);

/** Texts without a description. */
export const texts = (...example: string[]) => shown(z.array(z.string()), example);

/** A whole number from 0. @param description the counted things, with the unit */
export const count = (description: string, example?: number) =>
  shown(z.int().min(0).describe(description), example);

/** A time, RFC 3339 in UTC. @param description the happening at this time */
export const moment = (description: string, example: string = EXAMPLE.moment) =>
  shown(z.iso.datetime().describe(description), example);

export const address = text('IP address from which it was asked.', EXAMPLE.address);
export const agentId = id('The agent.', EXAMPLE.agentId);
export const keyId = id('The key of the agent.', EXAMPLE.keyId);
export const fingerprint = shown(
  z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .describe("SHA-256 of the key's public half, in lowercase hex."),
  EXAMPLE.fingerprint,
);
export const algorithm = shown(z.enum(['ed25519', 'es256', 'es256k', 'bip340']), 'ed25519');
export const kid = text('The issuer key: its RFC 7638 thumbprint.', EXAMPLE.kid);
export const signingAlgorithm = shown(z.enum(['ES256', 'EdDSA', 'RS256']), 'ES256');
export const clientId = text('The client: an application, or `service-agent`.', 'service-agent');
export const tokenId = id('`jti` of the access token.', '0199a1b2-af60-7172-9d8e-9f0a1b2c3d4e');
export const failures = count('Failures in the window.', 20);
export const windowSeconds = count('Length of the window in seconds.', 300);

/** A failed authentication of an agent. A refresh token can outlive its key, so the key may be gone. */
export const failedUse = {
  method: shown(z.enum(['challenge_response', 'refresh_token']), 'challenge_response'),
  stage: shown(z.enum(['challenge', 'verify', 'refresh']).describe('Where it failed.'), 'verify'),
  agent_id: agentId,
  key_id: keyId,
  key_fingerprint: fingerprint.nullable().describe('Null when the key is gone.'),
  address,
};

export const reason = text('An error code.', 'invalid_signature');

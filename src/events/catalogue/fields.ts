// Fields that several event types share, and their values in examples.
import { z } from 'zod';

/** @param description the entity that the UUID names */
export const id = (description: string) => z.uuid().describe(description);

export const text = (description: string) => z.string().describe(description);

/** A whole number from 0. @param description the counted things, with the unit */
export const count = (description: string) => z.int().min(0).describe(description);

/** A time, RFC 3339 in UTC. @param description the happening at this time */
export const moment = (description: string) => z.iso.datetime().describe(description);

export const address = text('IP address from which it was asked.');
export const agentId = id('The agent.');
export const keyId = id('The key of the agent.');
export const fingerprint = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .describe("SHA-256 of the key's public half, in lowercase hex.");
export const algorithm = z.enum(['ed25519', 'es256', 'es256k', 'bip340']);
export const kid = text('The issuer key: its RFC 7638 thumbprint.');
export const signingAlgorithm = z.enum(['ES256', 'EdDSA', 'RS256']);
export const clientId = text('The client: an application, or `service-agent`.');
export const tokenId = id('`jti` of the access token.');
export const scope = text('Scopes, separated by spaces.');
export const scopes = z.array(z.string());
export const audience = text('Audience of the token.');
export const expiresIn = count('Seconds until the token expires.');
export const failures = count('Failures in the window.');
export const windowSeconds = count('Length of the window in seconds.');

/** A failed authentication of an agent. A refresh token can outlive its key, so the key may be gone. */
export const failedUse = {
  method: z.enum(['challenge_response', 'refresh_token']),
  stage: z.enum(['challenge', 'verify', 'refresh']).describe('Where it failed.'),
  agent_id: agentId,
  key_id: keyId,
  key_fingerprint: fingerprint.nullable().describe('Null when the key is gone.'),
  address,
};

export const reason = text('An error code.');

export const EXAMPLE = {
  agentId: '0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b',
  keyId: '0199a1b2-8d4e-7f50-9b6c-7d8e9f0a1b2c',
  newKeyId: '0199a1b2-8d4e-7f50-9b6c-8e9f0a1b2c3d',
  applicationId: '0199a1b2-9e5f-7061-8c7d-8e9f0a1b2c3d',
  tokenId: '0199a1b2-af60-7172-9d8e-9f0a1b2c3d4e',
  otherTokenId: '0199a1b2-af60-7172-9d8e-0a1b2c3d4e5f',
  familyId: '0199a1b2-b071-7283-8e9f-0a1b2c3d4e5f',
  delegationId: '0199a1b2-c182-7394-9fa0-1b2c3d4e5f60',
  subjectId: '0199a1b2-d293-74a5-80b1-2c3d4e5f6071',
  subscriptionId: '0199a1b2-e3a4-75b6-91c2-3d4e5f607182',
  eventId: '0199a1b3-27e8-79fa-95b6-718293041526',
  tenantId: '0199a1b3-38f9-7a0b-86c7-829304152637',
  deliveryId: '0199a1b2-f4b5-76c7-82d3-4e5f60718293',
  rotationId: '0199a1b3-05c6-77d8-93e4-5f6071829304',
  anchorId: '0199a1b3-490a-7b1c-97d8-940516273849',
  userId: '0199a1b3-16d7-78e9-84f5-607182930415',
  kid: 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs',
  otherKid: 'cn-I_WNMClehiVp51i_0VpOENW1upEerA8sEam5hn-s',
  fingerprint: '3f79bb7b435b05321651daefd374cdc681dc06faa65e374e38337b88ca046dea',
  address: '203.0.113.7',
  moment: '2026-05-04T09:30:00.000Z',
} as const;

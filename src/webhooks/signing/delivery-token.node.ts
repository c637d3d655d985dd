// The JWT of a delivery, by which a gateway that knows the tenant's issuer verifies it without a shared secret.
import { createHash } from 'node:crypto';
import type { TenantSigner } from './tenant-signer.node.ts';

/** `typ` of the JWT. No access token has it, and resource servers require that of access tokens (RFC 8725 §3.11). */
export const DELIVERY_TOKEN_TYPE = 'webhook+jwt';

/** The most seconds for which a token is valid; `max_age` of the subscription may be shorter. */
const MOST_SECONDS = 300;

/**
 * Signs the token of one attempt. It has no subject, client or scope.
 * @param options.origin of the receiver: the audience
 * @param options.timestamp in Unix seconds
 */
export function deliveryToken(
  { issuer, sign }: TenantSigner,
  {
    origin,
    deliveryId,
    timestamp,
    maxAge,
    body,
  }: { origin: string; deliveryId: string; timestamp: number; maxAge: number; body: Uint8Array },
): string {
  const claims = {
    iss: issuer,
    aud: origin,
    jti: deliveryId,
    iat: timestamp,
    exp: timestamp + Math.min(maxAge, MOST_SECONDS),
    body_sha256: createHash('sha256').update(body).digest('base64url'),
  };
  return sign(claims, { typ: DELIVERY_TOKEN_TYPE });
}

// Checks where the keys of another issuer come from: an address that the service may ask, or public keys.
import { importJwk } from '../../platform/crypto/jws.node.ts';
import type { Network } from '../../platform/egress/address-rules.ts';
import { checkReceiverUrl } from '../../platform/egress/url-rules.ts';
import { invalidField } from '../../platform/errors/service-error.ts';
import type { InlineJwks, KeySourceInput } from './trusted-issuer.ts';

/**
 * @param admittedNetworks networks with private addresses in which a key set's address may be
 * @throws ServiceError `invalid_request` naming the address or the key
 */
export function checkKeySource(
  { jwksUri, jwks }: KeySourceInput,
  admittedNetworks: readonly Network[],
): void {
  if (typeof jwksUri === 'string') {
    const verdict = checkReceiverUrl(jwksUri, admittedNetworks);
    if (!verdict.ok) throw invalidField('body.jwks_uri', verdict.message);
  }
  if (jwks !== undefined && jwks !== null) checkPoints(jwks);
}

/** Checks with OpenSSL that the point of each key is on its curve. */
function checkPoints({ keys }: InlineJwks): void {
  for (const [index, key] of keys.entries()) {
    try {
      importJwk(key);
    } catch {
      throw invalidField(`body.jwks.keys.${index}`, 'is not a valid public key');
    }
  }
}

// Recognises a token request that is sent again after a lost answer, so that its assertion, good once, serves again.
import { createHash } from 'node:crypto';
import { addressGroup } from '../../platform/address-group.ts';
import type { RequestContext } from '../../platform/context.ts';
import type { TokenParameters } from './token-answer.ts';

/**
 * Returns by what a request is known to be the same: all parameters, the key of its DPoP proof, and the group
 * of the client's address.
 * @param jkt thumbprint of the proof's key; undefined without a proof
 */
export function digestOfRequest(
  { address }: Pick<RequestContext, 'address'>,
  parameters: TokenParameters,
  jkt: string | undefined,
): Uint8Array {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined);
  const text = JSON.stringify([given.sort(), jkt ?? null, addressGroup(address)]);
  return createHash('sha256').update(text).digest();
}

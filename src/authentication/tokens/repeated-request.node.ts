// Recognises a token request that is sent again after a lost answer, so that its assertion, good once, serves again.
import { createHash } from 'node:crypto';
import { addressGroup } from '../../platform/address-group.ts';
import type { RequestContext } from '../../platform/context.ts';
import type { Repeat } from '../../platform/database/used-once.ts';
import { GRACE, MOST_REPEATS } from './refresh-token.ts';
import type { TokenParameters } from './token-answer.ts';

/**
 * Returns by what a request is known to be the same, with the grace of refresh tokens: all parameters, the key of its
 * DPoP proof, and the group of the client's address.
 * @param jkt thumbprint of the proof's key; undefined without a proof
 */
export function repeatOf(
  { address }: Pick<RequestContext, 'address'>,
  parameters: TokenParameters,
  jkt: string | undefined,
): Repeat {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined);
  const text = JSON.stringify([given.sort(), jkt ?? null, addressGroup(address)]);
  return { request: createHash('sha256').update(text).digest(), within: GRACE, most: MOST_REPEATS };
}

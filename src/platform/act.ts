// The `act` claim (RFC 8693 §4.1): the agent that acts, and the earlier actors from which its authority came.
import { ServiceError } from './errors/service-error.ts';
import { isObject } from './json-values.ts';

/** The most actors in one token, the current one included. */
export const MOST_ACTORS = 5;

/** Bytes of the largest `act` as JSON, so that a token with it stays below 8 KiB. */
export const LARGEST_ACT = 4_096;

/** An actor. `iss` is set when it differs from the token's issuer. `act` is the previous actor. */
export type Act = {
  readonly sub: string;
  readonly iss?: string | undefined;
  readonly agent?: { readonly name: string; readonly capabilities: readonly string[] } | undefined;
  readonly act?: Act | undefined;
};

export type Actor = Omit<Act, 'act'>;

/**
 * Reads the `act` claim of a verified subject token.
 * @param claim undefined when the token has none
 * @param foreign for a token of another issuer: `issuer` is that issuer, to which actors without `iss` belong; `own` is
 *   this issuer, whose agents get no `iss`
 * @throws ServiceError `invalid_request` unless every level is an object with a `sub`, at most `MOST_ACTORS` levels
 *   deep
 */
export function readAct(
  claim: unknown,
  foreign?: { readonly issuer: string; readonly own: string } | undefined,
  depth = 1,
): Act | undefined {
  if (claim === undefined) return undefined;
  if (depth > MOST_ACTORS) throw tooDeep();
  if (!isObject(claim) || typeof claim.sub !== 'string' || claim.sub === '')
    throw invalid('The act claim of the subject token is malformed.');
  const named = typeof claim.iss === 'string' ? claim.iss : foreign?.issuer;
  const iss = named === foreign?.own ? undefined : named;
  const agent = foreign === undefined ? readAgent(claim.agent) : undefined;
  const act = readAct(claim.act, foreign, depth + 1);
  return {
    sub: claim.sub,
    ...(iss === undefined ? {} : { iss }),
    ...(agent === undefined ? {} : { agent }),
    ...(act === undefined ? {} : { act }),
  };
}

/**
 * Puts the current actor in front of the actors of the subject token.
 * @throws ServiceError `invalid_request` when the chain becomes deeper than `MOST_ACTORS` or larger than `LARGEST_ACT`
 */
export function buildAct(actor: Actor, older: Act | undefined): Act {
  const act: Act = older === undefined ? { ...actor } : { ...actor, act: older };
  if (actorsOf(act).length > MOST_ACTORS) throw tooDeep();
  if (new TextEncoder().encode(JSON.stringify(act)).length > LARGEST_ACT)
    throw invalid('The chain of delegation is too large for a token.');
  return act;
}

/** All actors of the chain, the current one first. */
export function actorsOf(act: Act | undefined): Actor[] {
  const actors: Actor[] = [];
  for (let link = act; link !== undefined; link = link.act) {
    const { act: _older, ...actor } = link;
    actors.push(actor);
  }
  return actors;
}

function readAgent(value: unknown): Act['agent'] {
  if (!isObject(value) || typeof value.name !== 'string' || !Array.isArray(value.capabilities))
    return undefined;
  const capabilities = value.capabilities.filter((item): item is string => typeof item === 'string');
  return { name: value.name, capabilities };
}

function tooDeep(): ServiceError {
  return invalid(`The chain of delegation has more than ${MOST_ACTORS} actors.`);
}

function invalid(detail: string): ServiceError {
  return new ServiceError('invalid_request', { detail });
}

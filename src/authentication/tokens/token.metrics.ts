// Counts the answers and errors of the token endpoint, by grant and error code.
import { Counter, type Registry } from 'prom-client';
import { ServiceError } from '../../platform/errors/service-error.ts';
import type { TokenEndpointService } from './token-endpoint.service.ts';

/** Returns the last part of a grant's name, such as `token-exchange` of its URN (RFC 8693 §2.1). */
const shorten = (grant: string): string => grant.slice(grant.lastIndexOf(':') + 1);

/**
 * @param endpoint the token endpoint whose answers are counted
 * @param options.grants the known values of `grant_type`; all other values are counted together
 */
export function countTokens(
  endpoint: Pick<TokenEndpointService, 'requestToken'>,
  { registry, grants }: { registry: Registry; grants: Iterable<string> },
): Pick<TokenEndpointService, 'requestToken'> {
  const counter = new Counter({
    name: 'countersign_token_requests_total',
    help: 'Requests at the token endpoint by grant and outcome: "issued", or the error code.',
    labelNames: ['grant', 'outcome'],
    registers: [registry],
  });
  const names = new Map([...grants].map((grant) => [grant, shorten(grant)]));
  const issued = new Map([...names].map(([grant, name]) => [grant, counter.labels(name, 'issued')]));
  return {
    requestToken: async (context, request) => {
      const grant = request.parameters.grant_type ?? '';
      try {
        const response = await endpoint.requestToken(context, request);
        issued.get(grant)?.inc();
        return response;
      } catch (error) {
        counter.inc({ grant: names.get(grant) ?? 'unsupported', outcome: outcomeOf(error) });
        throw error;
      }
    },
  };
}

function outcomeOf(error: unknown): string {
  return error instanceof ServiceError ? error.code : 'server_error';
}

// The public route of an agent's key set.
import { DOCUMENT_HEADERS, NOT_MODIFIED, publicDocument } from '../../platform/http/answers.ts';
import { defineRoute, type Route } from '../../platform/http/route.ts';
import { agentKeysParams } from './key.schemas.ts';
import { KEY_SETS } from './key-set.examples.ts';
import { agentJwkSetSchema } from './key-set.schemas.ts';
import type { KeySetService } from './key-set.service.ts';

const JWK_SET = 'application/jwk-set+json';

/** Seconds for which a verifier may use a set, so that a revoked key ends soon for every verifier. */
const MAX_AGE = 30;

export function createKeySetRoutes({ keySets }: { keySets: KeySetService }): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/agents/:agent_id/jwks.json',
      operationId: 'getAgentJwks',
      summary: 'Public keys that verify what an agent has signed',
      description:
        'The keys that are active, or deprecated before their sunset; `kid` is the RFC 7638 thumbprint. A bip340 key is not shown: no JWK is registered for it. The set is empty while the agent or the tenant is suspended, and after the agent was deleted.',
      tag: 'Keys',
      scope: null,
      whileSuspended: true,
      isDocument: true,
      request: { params: agentKeysParams },
      responses: {
        200: {
          description: 'The JWK set',
          schema: agentJwkSetSchema,
          contentType: JWK_SET,
          headers: DOCUMENT_HEADERS,
          examples: KEY_SETS,
        },
        304: NOT_MODIFIED,
      },
      handler: async ({ context, params }) =>
        publicDocument(await keySets.describe(context, params.agent_id), {
          contentType: JWK_SET,
          maxAge: MAX_AGE,
        }),
    }),
  ];
}

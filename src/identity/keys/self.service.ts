// Reads the agent that the presented token belongs to.

import type { TokenService } from '../../authentication/tokens/token.service.ts';
import type { RequestContext } from '../../platform/context.ts';
import type { Database } from '../../platform/database/database.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { Agent, AgentService } from '../agents/agent.service.ts';
import type { AgentKey, KeyService } from './key.service.ts';

/** `authenticatedKeyId`: the key for which the presented token was issued, or null when the token has no key. */
export type AgentSelf = {
  readonly agent: Agent;
  readonly keys: readonly AgentKey[];
  readonly authenticatedKeyId: string | null;
};

export class SelfService extends Service<{
  agents: Pick<AgentService, 'get'>;
  keys: Pick<KeyService, 'listUsable'>;
  tokens: Pick<TokenService, 'findKeyOfToken'>;
  database: Pick<Database, 'query'>;
}> {
  /**
   * Returns the agent of the request's token, with its keys that may authenticate.
   * @throws ServiceError `insufficient_scope` when the token's subject is not an agent of the tenant
   */
  describe = async ({ tenant, principal, ...request }: RequestContext): Promise<AgentSelf> => {
    const agentId = principal?.agentId;
    if (principal === undefined || agentId === undefined) throw notAnAgent();
    const context = { ...request, tenant, principal };
    const token = { tenantId: tenant.id, agentId, id: principal.tokenId };
    const [agent, usable, keyId] = await Promise.all([
      this.needs.agents.get(context, agentId),
      this.needs.keys.listUsable(context, agentId),
      this.needs.tokens.findKeyOfToken(this.needs.database, token),
    ]).catch((error: unknown) => {
      throw error instanceof ServiceError && error.code === 'not_found' ? notAnAgent() : error;
    });
    return { agent, keys: usable, authenticatedKeyId: keyId ?? null };
  };
}

function notAnAgent(): ServiceError {
  return new ServiceError('insufficient_scope', { detail: 'The token is not of an agent of this tenant.' });
}

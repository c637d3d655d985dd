// Schema of an agent in the answer to the agent itself.
import { z } from 'zod';
import type { Tenant } from '../../platform/context.ts';
import { PAGE_LIMIT } from '../../platform/database/page.ts';
import { present } from '../../platform/http/present.ts';
import { agentSchema } from '../agents/agent.schemas.ts';
import { resolveAudience } from '../agents/agent.ts';
import { keySchema, presentKey } from './key.schemas.ts';
import type { AgentSelf } from './self.service.ts';

/**
 * Has none of what the tenant says about the agent for its own people. Has the tenant's id, which the agent needs for
 * the proofs of its keys.
 */
export const selfSchema = agentSchema
  .omit({ metadata: true, owner: true, purpose: true, open_enrollment_tokens: true })
  .extend({
    tenant_id: z.uuid(),
    keys: z.array(keySchema).max(PAGE_LIMIT.most).meta({
      description: 'The keys with which the agent may authenticate, the newest first.',
    }),
    authenticated_key_id: z.uuid().nullable().meta({
      description: 'The key that this token came of; null when no key of the agent did.',
    }),
  })
  .meta({ id: 'AgentSelf' });

/** Converts an agent and its keys to the JSON answer. The tenant's metadata, owner and purpose are left out. */
export function presentSelf(self: AgentSelf, tenant: Tenant) {
  return present(selfSchema, self.agent, {
    audience: resolveAudience(self.agent, tenant),
    tenant_id: tenant.id,
    keys: self.keys.map(presentKey),
    authenticated_key_id: self.authenticatedKeyId,
  });
}

// Who may decide what an application can do, by its scopes and by the agent that it is linked to.
import type { RequestContext } from '../../platform/context.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import { invalidField } from '../../platform/errors/service-error.ts';
import { checkGrantor } from '../../platform/scopes.ts';
import * as store from './application.store.ts';
import type { Application } from './application.ts';

/**
 * Checks that the principal may decide what the application can do: it needs all scopes of the application, and all
 * of the linked agent, because a client of an agent has the agent's `sub`. Scopes that either has had count too,
 * because somebody may give them back, and those of a deleted agent: a secret that was added meanwhile would else stand
 * behind the agent that is linked next. `agents:impersonate` stands for the agent alone: the application outlives its
 * link.
 * @throws ServiceError `insufficient_scope`
 */
export async function checkGranted(
  unit: Transaction,
  { tenant, principal }: RequestContext,
  { scopes, hadScopes, agentId }: Pick<Application, 'scopes' | 'hadScopes' | 'agentId'>,
): Promise<void> {
  const agent = agentId === null ? undefined : await store.lockAgent(unit, tenant.id, agentId);
  if (agent !== undefined)
    checkGrantor(principal, {
      holder: 'agent',
      scopes: [...agent.scopes, ...agent.hadScopes],
      isCapable: agent.isCapable,
    });
  checkGrantor(principal, { holder: 'application', scopes: [...scopes, ...hadScopes] });
}

/**
 * Reads the scopes of the agent of an application; undefined without one.
 * @throws ServiceError `invalid_request` when there is no such agent
 */
export async function readAgentScopes(
  unit: Transaction,
  tenantId: string,
  agentId: string | null | undefined,
): Promise<readonly string[] | undefined> {
  if (agentId === null || agentId === undefined) return undefined;
  const agent = await store.lockAgent(unit, tenantId, agentId);
  if (agent === undefined || agent.isDeleted)
    throw invalidField('body.agent_id', 'is no agent of this tenant');
  return agent.scopes;
}

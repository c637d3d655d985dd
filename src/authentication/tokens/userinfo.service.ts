// Describes the subject of a token as it is stored now.

import type { AgentService } from '../../identity/agents/agent.service.ts';
import type { ApplicationService } from '../../identity/applications/application.service.ts';
import type { RequestContext } from '../../platform/context.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';

export class UserinfoService extends Service<{
  agents: Pick<AgentService, 'get'>;
  applications: Pick<ApplicationService, 'get'>;
}> {
  /**
   * Describes the subject. `name` and `agent` are absent when the subject is not stored. For a delegated token, the
   * answer contains `delegated_subject` and `act` instead.
   */
  describe = async (context: RequestContext) => {
    const { principal, tenant } = context;
    if (principal === undefined) throw new ServiceError('invalid_token');
    const { kind, subject, delegated } = principal;
    if (delegated !== undefined)
      return {
        sub: subject,
        subject_type: 'agent',
        tenant_id: tenant.id,
        delegated_subject: delegated.subject,
        act: delegated.act,
      };
    const known = await this.#describe(context, kind, subject).catch((error: unknown) => {
      if (error instanceof ServiceError && error.code === 'not_found') return {};
      throw error;
    });
    return { sub: subject, subject_type: 'agent', tenant_id: tenant.id, ...known };
  };

  #describe = async (context: RequestContext, kind: 'agent' | 'application', id: string) => {
    if (kind === 'application') return { name: (await this.needs.applications.get(context, id)).name };
    const { name, capabilities } = await this.needs.agents.get(context, id);
    return { name, agent: { name, capabilities } };
  };
}

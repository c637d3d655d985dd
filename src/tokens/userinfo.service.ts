// The subject of a token as it is now. It must never tell of anybody but the request's own principal.
import type { AgentService } from '../agents/agent.service.ts';
import type { ApplicationService } from '../applications/application.service.ts';
import type { RequestContext } from '../context.ts';
import { ServiceError } from '../errors/service-error.ts';

/** Source: Specification, "Agent access token claims" for the names. */
export type Userinfo = {
  readonly sub: string;
  readonly subject_type: 'agent';
  readonly tenant_id: string;
  readonly name?: string;
  readonly agent?: { readonly name: string; readonly capabilities: readonly string[] };
};

/** Describes principals. */
export function createUserinfoService({
  agents,
  applications,
}: {
  agents: Pick<AgentService, 'get'>;
  applications: Pick<ApplicationService, 'get'>;
}) {
  async function describe(context: RequestContext, kind: 'agent' | 'application', id: string) {
    if (kind === 'application') return { name: (await applications.get(context, id)).name };
    const { name, capabilities } = await agents.get(context, id);
    return { name, agent: { name, capabilities } };
  }

  return {
    /** Name and capabilities are there when the subject is an agent or application of the tenant, which a delegating user is not. */
    describe: async (context: RequestContext): Promise<Userinfo> => {
      const { principal, tenant } = context;
      if (principal === undefined) throw new ServiceError('invalid_token');
      const { kind, subject } = principal;
      const known = await describe(context, kind, subject).catch((error: unknown) => {
        if (error instanceof ServiceError && error.code === 'not_found') return {};
        throw error;
      });
      return { sub: subject, subject_type: 'agent', tenant_id: tenant.id, ...known };
    },
  };
}

export type UserinfoService = ReturnType<typeof createUserinfoService>;

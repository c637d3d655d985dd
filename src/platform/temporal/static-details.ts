// What the Temporal UI shows of a workflow from its start: the tenant's name in searches, and links in its details.
// Pure.
// docs/decisions/0037-what-workflows-say.md
import type { Tenant } from '../context.ts';
import type { EntityWorkflow } from './names.ts';

/** The tenant's names, as operators know them. A workflow starts without them when they cannot be read. */
export type TenantNames = Pick<Tenant, 'slug' | 'baseUrl'>;

/** @param docsUrl base address of the pages in `docs`; undefined: those that the API serves are linked */
export type Presenter = {
  readonly docsUrl?: string | undefined;
  readonly tenantOf: (tenantId: string) => Promise<TenantNames | undefined>;
};

export type EntityPlace = {
  readonly workflow: EntityWorkflow;
  readonly entityId: string;
  readonly agentId?: string | undefined;
  readonly subscriptionId?: string | undefined;
};

/** Reads the names of a tenant. @returns undefined when there are none or the database does not answer */
export async function namesOf(
  presenter: Presenter | undefined,
  tenantId: string,
): Promise<TenantNames | undefined> {
  return presenter?.tenantOf(tenantId).catch(() => undefined);
}

/** The static details of a workflow, in Markdown: its page in docs/operations, and the record in the API. */
export function detailsOfStart(
  presenter: Presenter | undefined,
  { workflow, tenant, path }: { workflow: string; tenant: TenantNames | undefined; path: string | undefined },
): string | undefined {
  if (presenter === undefined) return undefined;
  const help = linkToHelp(presenter.docsUrl, tenant, `operations/${pageOf(workflow)}`);
  if (tenant === undefined) return help;
  const record = path === undefined ? '' : ` · [API record](${tenant.baseUrl}${path})`;
  return `Tenant \`${tenant.slug}\` · ${help}${record}`;
}

/** The page where `DOCS_URL` says, else at the tenant's address, where the API serves it as a guide. */
function linkToHelp(docsUrl: string | undefined, tenant: TenantNames | undefined, page: string): string {
  if (docsUrl !== undefined) return `[What one can do](${docsUrl}/${page}.md)`;
  if (tenant === undefined) return `What one can do: docs/${page}.md`;
  return `[What one can do](${tenant.baseUrl}/docs/guides/${page})`;
}

/** The path of an entity in the API; undefined where a part of it is not known. */
export function pathOfEntity({
  workflow,
  entityId,
  agentId,
  subscriptionId,
}: EntityPlace): string | undefined {
  const agent = agentId === undefined ? undefined : `/api/v1/agents/${agentId}`;
  const webhook = subscriptionId === undefined ? undefined : `/api/v1/webhooks/${subscriptionId}`;
  const paths: Record<EntityWorkflow, string | undefined> = {
    agentKeyRotation: agent && `${agent}/keys/${entityId}`,
    anchorVerification: agent && `${agent}/anchors/${entityId}`,
    accessReceipt: agent && `${agent}/receipts/${entityId}`,
    bulkReplay: webhook && `${webhook}/replays/${entityId}`,
    endpointRecovery: `/api/v1/webhooks/${entityId}`,
    webhookSecretRotation: `/api/v1/webhooks/${entityId}`,
    delegationExpiry: `/api/v1/delegations/${entityId}`,
    issuerKeyRotation: '/api/v1/tenant/issuer-keys',
    tenantErasure: undefined,
  };
  return paths[workflow];
}

/** `agent-key-rotation` for `agentKeyRotation`. */
function pageOf(workflow: string): string {
  return workflow.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

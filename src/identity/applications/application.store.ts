// SQL of applications. Each statement is bound to one tenant and returns no deleted application.
import { validate as isUuid } from 'uuid';
import { AUTHENTICATION_FILTERS } from '../../events/catalogue.ts';
import { many, one } from '../../platform/database/statements.ts';
import { createTenantRows } from '../../platform/database/tenant-rows.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import type { Given } from '../../platform/given.ts';
import { isHeard } from '../../webhooks/intake/fan-out.ts';
import type { AgentRow } from '../agents/agent.model.ts';
import { APPLICATION } from './application.model.ts';
import { type Application, CLIENT_VERSION, type Client, type LinkedAgent } from './application.ts';

export type ApplicationChange = Partial<
  Pick<
    Application,
    'name' | 'audience' | 'scopes' | 'grantTypes' | 'agentId' | 'jwks' | 'dpopBoundAccessTokens' | 'hadScopes'
  >
>;

export type ApplicationFilters = Given<{ name: string; agentId: string }>;

export type ClientKey = { readonly tenantId: string; readonly clientId: string };

/** The members of the agent are null without one. */
type ClientRow = Pick<
  Application,
  'tenantId' | 'id' | 'name' | 'audience' | 'scopes' | 'grantTypes' | 'jwks' | 'dpopBoundAccessTokens'
> & {
  secretIds: string[] | null;
  secretHashes: Buffer[] | null;
  agentId: string | null;
  agentName: string;
  agentCapabilities: string[];
  agentScopes: string[];
  agentStatus: LinkedAgent['status'];
  agentIsBound: boolean;
  isHeard: boolean;
  version: string;
};

const listClients = many<
  ClientRow,
  [tenantIds: readonly string[], clientIds: readonly string[], filters: readonly string[]]
>(`
SELECT application.tenant_id, application.id, application.name, application.audience, application.scopes,
       application.grant_types, application.jwks, application.dpop_bound_access_tokens,
       agent.dpop_bound_access_tokens AS agent_is_bound, live.secret_ids, live.secret_hashes,
       application.agent_id, agent.name AS agent_name, agent.capabilities AS agent_capabilities, agent.scopes AS agent_scopes,
       CASE WHEN agent.deleted_at IS NULL THEN agent.status ELSE 'deleted' END AS agent_status,
       ${isHeard('application.tenant_id', '$3')} AS is_heard,
       ${CLIENT_VERSION} AS version
FROM unnest($1::uuid[], $2::uuid[]) AS wanted (tenant_id, id)
JOIN applications application ON application.id = wanted.id AND application.tenant_id = wanted.tenant_id
LEFT JOIN agents agent ON agent.id = application.agent_id
LEFT JOIN LATERAL (
  SELECT array_agg(secret.id ORDER BY secret.id) AS secret_ids, array_agg(secret.hash ORDER BY secret.id) AS secret_hashes
  FROM application_secrets secret
  WHERE secret.application_id = application.id AND (secret.expires_at IS NULL OR secret.expires_at > now())
) AS live ON true
WHERE application.deleted_at IS NULL`);

export const { insert, exists, find, lock, list, listAll, update, markDeleted } =
  createTenantRows(APPLICATION);

type LockedAgent = Pick<AgentRow, 'scopes' | 'hadScopes'> & {
  /** It has a capability, or has had one. */
  readonly isCapable: boolean;
  readonly isDeleted: boolean;
};

const lockScopes = one<LockedAgent, [tenantId: string, agentId: string]>(`
SELECT scopes, had_scopes, had_capabilities OR capabilities <> '{}' AS is_capable, deleted_at IS NOT NULL AS is_deleted
FROM agents WHERE id = $2 AND tenant_id = $1 FOR KEY SHARE`);

/**
 * Reads the scopes of the agent of an application, and keeps them as they are until the transaction ends.
 * @returns undefined when there never was such an agent
 */
export const lockAgent = async (
  unit: Transaction,
  tenantId: string,
  agentId: string,
): Promise<LockedAgent | undefined> => (isUuid(agentId) ? lockScopes(unit, tenantId, agentId) : undefined);

/**
 * Reads the data that decide token requests. One round trip. @returns for each key, in order, the client or undefined
 */
export async function findClients(
  queryable: Queryable,
  keys: readonly ClientKey[],
): Promise<(Client | undefined)[]> {
  const wanted = [...new Map(keys.map((key) => [nameOf(key), key])).values()];
  const [tenantIds, clientIds] = [
    wanted.map(({ tenantId }) => tenantId),
    wanted.map(({ clientId }) => clientId),
  ];
  const rows = await listClients(queryable, tenantIds, clientIds, AUTHENTICATION_FILTERS);
  const clients = new Map(
    rows.map((row) => [nameOf({ tenantId: row.tenantId, clientId: row.id }), toClient(row)]),
  );
  return keys.map((key) => clients.get(nameOf(key)));
}

/** Returns the name of a client in maps. Lower case, because a request may contain a UUID in upper case. */
export function nameOf({ tenantId, clientId }: ClientKey): string {
  return `${tenantId}:${clientId.toLowerCase()}`;
}

function toClient({ id, name, audience, scopes, grantTypes, ...row }: ClientRow): Client {
  return {
    id,
    name,
    audience,
    scopes,
    grantTypes,
    dpopBoundAccessTokens: row.dpopBoundAccessTokens,
    secrets: (row.secretHashes ?? []).map((hash, index) => ({ id: row.secretIds?.[index] ?? '', hash })),
    keys: row.jwks?.keys ?? [],
    isHeard: row.isHeard,
    version: row.version,
    agent:
      row.agentId === null
        ? undefined
        : {
            id: row.agentId,
            name: row.agentName,
            capabilities: row.agentCapabilities,
            scopes: row.agentScopes,
            status: row.agentStatus,
            dpopBoundAccessTokens: row.agentIsBound,
          },
  };
}

// SQL of agents' public key sets. Each statement is bound to the tenant of each agent.
import type { PublicKey } from '../../platform/crypto/public-key.ts';
import { many } from '../../platform/database/statements.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { MOST_SHOWN, SHOWN_ALGORITHMS } from './key-set.ts';

export type AgentName = { readonly tenantId: string; readonly agentId: string };

/** An agent that is suspended or deleted has a row, and no key. */
const listRows = many<
  AgentName & (PublicKey | { readonly algorithm: null; readonly raw: null }),
  [tenantIds: readonly string[], agentIds: readonly string[], algorithms: readonly string[], limit: number]
>(`
SELECT a.tenant_id, a.id AS agent_id, k.algorithm, k.public_key AS raw
FROM (SELECT DISTINCT * FROM unnest($1::uuid[], $2::uuid[]) AS asked (tenant_id, id)) AS asked
JOIN agents a ON a.id = asked.id AND a.tenant_id = asked.tenant_id
LEFT JOIN LATERAL (
  SELECT id, algorithm, public_key FROM agent_keys key
  WHERE key.agent_id = a.id AND key.tenant_id = a.tenant_id AND a.status = 'active' AND a.deleted_at IS NULL
    AND key.algorithm = ANY ($3::text[]) AND (key.state = 'active' OR key.state = 'deprecated' AND key.sunset_at > now())
  ORDER BY key.id DESC LIMIT $4
) AS k ON true
ORDER BY k.id DESC`);

/**
 * Lists the keys of agents that others may trust: neither revoked nor past their sunset, of an agent that is neither
 * suspended nor deleted; newest first. One round trip.
 * @returns for each name its keys, or undefined when the tenant never had the agent
 */
export async function list(
  queryable: Queryable,
  names: readonly AgentName[],
): Promise<(PublicKey[] | undefined)[]> {
  const [tenantIds, agentIds] = [names.map(({ tenantId }) => tenantId), names.map(({ agentId }) => agentId)];
  const rows = await listRows(queryable, tenantIds, agentIds, SHOWN_ALGORITHMS, MOST_SHOWN);
  const found = new Map<string, PublicKey[]>();
  for (const { algorithm, raw, ...name } of rows) {
    const keys = found.get(textOf(name)) ?? [];
    found.set(textOf(name), algorithm === null ? keys : [...keys, { algorithm, raw }]);
  }
  return names.map((name) => found.get(textOf(name)));
}

function textOf({ tenantId, agentId }: AgentName): string {
  return `${tenantId}:${agentId}`;
}

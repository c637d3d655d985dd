// SQL of agents. Each statement is bound to one tenant and finds no deleted agents.
import { existenceIn } from '../../platform/database/existence.ts';
import type { Models } from '../../platform/database/model.ts';
import type { Page, PageRequest } from '../../platform/database/page.ts';
import { loadSequelize } from '../../platform/database/sequelize.ts';
import { many, one } from '../../platform/database/statements.ts';
import { columnNames, selectList } from '../../platform/database/table.ts';
import { createTenantRows } from '../../platform/database/tenant-rows.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import type { Given } from '../../platform/given.ts';
import { OPEN } from '../enrollments/enrollment.ts';
import { AGENT, type NewAgentRow } from './agent.model.ts';
import type { AgentRecord, RegistrationEvidence } from './agent.ts';

export type AgentFilters = Given<Pick<AgentRecord, 'status' | 'name'>> & {
  readonly capability?: string | undefined;
  readonly scope?: string | undefined;
};
export type AgentChanges = Partial<Omit<NewAgentRow, 'id' | 'tenantId'>>;

/** The columns of an `AgentRecord`. */
const RECORD = selectList(AGENT, columnNames(AGENT, ['deletedAt']), { of: 'a' });

// The audit entry of an agent's creation is about as old as the agent. Postgres therefore searches only the ids of that
// time, and the cost does not grow with the log.
const EVIDENCE = `
coalesce(proof.verified, false) AS verified, coalesce(proof.audited, false) AND EXISTS (
  SELECT 1 FROM audit_log
  WHERE target_id = a.id::text AND action = 'agent.created'
    AND id >= uuid_of_time(a.created_at - interval '10 minutes') AND id < uuid_of_time(a.created_at + interval '10 minutes')
) AS audited, (
  SELECT count(*)::int FROM enrollment_tokens token WHERE token.agent_id = a.id AND ${OPEN}
) AS open_enrollment_tokens
FROM agents a
LEFT JOIN LATERAL (
  SELECT true AS verified, bool_or(EXISTS (
    SELECT 1 FROM audit_log WHERE target_id = proven.id::text AND action = proven.action)) AS audited
  FROM (
    SELECT keys.id, 'agent.key.verified' AS action FROM agent_keys keys
    WHERE keys.agent_id = a.id AND keys.verified_at IS NOT NULL AND keys.state <> 'revoked'
      AND (keys.sunset_at IS NULL OR keys.sunset_at > now())
    UNION ALL
    SELECT anchors.id, 'agent.anchor.verified' FROM anchors
    WHERE anchors.agent_id = a.id AND anchors.status = 'verified'
  ) AS proven
  HAVING count(*) > 0
) AS proof ON true
WHERE a.tenant_id = $1`;

const findAssessed = one<AgentRecord & RegistrationEvidence, [tenantId: string, id: string]>(
  `SELECT ${RECORD}, ${EVIDENCE} AND a.id = $2 AND a.deleted_at IS NULL`,
);

const listEvidence = many<
  RegistrationEvidence & Pick<AgentRecord, 'id'>,
  [tenantId: string, ids: readonly string[]]
>(`SELECT a.id, ${EVIDENCE} AND a.id = ANY($2::uuid[])`);

const rows = createTenantRows(AGENT);

export const { insert, exists, lock, update, markDeleted } = rows;

/** A deleted agent counts, too. */
export const existed = existenceIn('agents');

/** Reads an agent, and the facts from which its registration is assessed. One statement. */
export async function find(
  queryable: Queryable,
  tenantId: string,
  id: string,
): Promise<{ agent: AgentRecord; evidence: RegistrationEvidence } | undefined> {
  const row = await findAssessed(queryable, tenantId, id);
  if (row === undefined) return undefined;
  const { verified, audited, openEnrollmentTokens, ...agent } = row;
  return { agent, evidence: { verified, audited, openEnrollmentTokens } };
}

/** Reads an agent, also a deleted one, and excludes changes of it until the transaction ends. */
export function lockAny(
  transaction: Transaction,
  tenantId: string,
  id: string,
): Promise<AgentRecord | undefined> {
  return transaction.model(AGENT).lock({ id, tenantId }, 'KEY SHARE');
}

/** Lists agents, newest first. */
export const list = (
  models: Models,
  tenantId: string,
  { capability, scope, ...request }: PageRequest & AgentFilters,
): Promise<Page<AgentRecord>> =>
  rows.list(models, tenantId, request, [...holding('capabilities', capability), ...holding('scopes', scope)]);

/** Builds the condition that an array column contains this text. For undefined there is no condition. */
function holding(column: string, value: string | undefined) {
  const { col, Op, where } = loadSequelize();
  return value === undefined ? [] : [where(col(column), Op.contains, [value])];
}

/** Reads, for each agent id, the facts from which its registration is assessed. One statement. */
export async function readEvidence(
  queryable: Queryable,
  tenantId: string,
  ids: readonly string[],
): Promise<Map<string, RegistrationEvidence>> {
  const found = await listEvidence(queryable, tenantId, ids);
  return new Map(found.map(({ id, ...evidence }) => [id, evidence]));
}

// All SQL of agents. Every statement is bound to one tenant; a deleted agent is as if it had never been.
import { col, fn, Op, type Sequelize, where } from 'sequelize';
import { translateDatabaseError } from '../../platform/database/errors.ts';
import { decodeCursor, type Page, type PageRequest, toPage } from '../../platform/database/page.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { type AgentModel, type AgentRow, defineAgentModel, type NewAgentRow } from './agent.model.ts';
import type { AgentRecord, AgentStatus, RegistrationEvidence } from './agent.ts';

export type AgentFilters = {
  readonly status?: AgentStatus | undefined;
  readonly name?: string | undefined;
  readonly capability?: string | undefined;
  readonly scope?: string | undefined;
};
export type AgentChanges = Partial<Omit<NewAgentRow, 'id' | 'tenantId'>> & { readonly status?: AgentStatus };

// The creation's entry was made with the agent, so only the ids of that time are searched, however long the trail has become.
const EVIDENCE = `
SELECT a.id, coalesce(proof.verified, false) AS verified, coalesce(proof.audited, false) AND EXISTS (
  SELECT 1 FROM audit_log
  WHERE target_id = a.id::text AND action = 'agent.created'
    AND id >= uuid_of_time(a.created_at - interval '10 minutes') AND id < uuid_of_time(a.created_at + interval '10 minutes')
) AS audited
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
WHERE a.tenant_id = $1 AND a.id = ANY($2::uuid[])`;

/** SQL of agents; statements join `transaction` where one is given. */
export function createAgentStore({ sequelize }: { sequelize: Sequelize }) {
  const agents = defineAgentModel(sequelize);
  return {
    insert: async (transaction: Transaction, row: NewAgentRow): Promise<AgentRecord> => {
      const created = await agents.create(row, { transaction: transaction.sequelize });
      return created.get();
    },

    find: (transaction: Transaction | undefined, tenantId: string, id: string) =>
      translate(async () => {
        const row = await agents.findOne({
          where: { id, tenantId, deletedAt: null },
          transaction: transaction?.sequelize ?? null,
        });
        return row?.get() ?? null;
      }),

    /** Whether the agent is there. One indexed read. */
    exists: async (queryable: Queryable, tenantId: string, id: string): Promise<boolean> => {
      const { rowCount } = await queryable.query(
        'SELECT 1 FROM agents WHERE id = $1 AND tenant_id = $2 AND deleted_at IS NULL',
        [id, tenantId],
      );
      return rowCount > 0;
    },

    /**
     * Reads an agent and locks it until the transaction ends: `change` keeps out everybody, authentications under way
     * included; `reference` keeps it from being changed meanwhile, and lets others refer to it.
     */
    lock: async (
      transaction: Transaction,
      tenantId: string,
      id: string,
      purpose: 'change' | 'reference',
    ): Promise<AgentRecord | null> => {
      const { LOCK } = transaction.sequelize;
      const row = await agents.findOne({
        where: { id, tenantId, deletedAt: null },
        transaction: transaction.sequelize,
        lock: purpose === 'change' ? LOCK.UPDATE : LOCK.KEY_SHARE,
      });
      return row?.get() ?? null;
    },

    list: (
      transaction: Transaction | undefined,
      tenantId: string,
      request: PageRequest & AgentFilters,
    ): Promise<Page<AgentRecord>> => listAgents(agents, transaction, tenantId, request),

    update: (transaction: Transaction, id: string, changes: AgentChanges) =>
      changeAgent(agents, transaction, id, changes),

    markDeleted: (transaction: Transaction, id: string) =>
      changeAgent(agents, transaction, id, { deletedAt: fn('now') }),

    /** What keys, anchors and audit log say of each agent, by its id. One statement. */
    readEvidence: async (
      queryable: Queryable,
      tenantId: string,
      ids: readonly string[],
    ): Promise<Map<string, RegistrationEvidence>> => {
      const { rows } = await queryable.query<RegistrationEvidence & { id: string }>(EVIDENCE, [
        tenantId,
        ids,
      ]);
      return new Map(rows.map(({ id, verified, audited }) => [id, { verified, audited }]));
    },
  };
}

export type AgentStore = ReturnType<typeof createAgentStore>;

function listAgents(
  agents: AgentModel,
  transaction: Transaction | undefined,
  tenantId: string,
  { limit, cursor, status, name, capability, scope }: PageRequest & AgentFilters,
): Promise<Page<AgentRecord>> {
  const after = decodeCursor(cursor);
  return translate(async () => {
    const rows = await agents.findAll({
      where: {
        tenantId,
        deletedAt: null,
        ...(status === undefined ? {} : { status }),
        ...(name === undefined ? {} : { name }),
        [Op.and]: [...holding('capabilities', capability), ...holding('scopes', scope)],
        ...(after === undefined ? {} : { id: { [Op.lt]: after } }),
      },
      order: [['id', 'DESC']],
      limit: limit + 1,
      transaction: transaction?.sequelize ?? null,
    });
    return toPage(
      rows.map((row) => row.get()),
      limit,
    );
  });
}

/** The condition that a column of texts holds this one; none for undefined. */
function holding(column: string, value: string | undefined) {
  return value === undefined ? [] : [where(col(column), Op.contains, [value])];
}

/** Changes a row that the transaction has locked. */
async function changeAgent(
  agents: AgentModel,
  transaction: Transaction,
  id: string,
  changes: AgentChanges | { deletedAt: ReturnType<typeof fn> },
): Promise<AgentRow> {
  const [, rows] = await agents.update(
    { ...changes, updatedAt: fn('now') },
    { where: { id }, returning: true, transaction: transaction.sequelize },
  );
  const row = rows[0];
  if (row === undefined) throw new Error(`agent ${id} vanished although it was locked`);
  return row.get();
}

async function translate<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw translateDatabaseError(error);
  }
}

// SQL of the applications. Every statement is bound to one tenant, and none returns an application that was deleted.
import { Op, type Sequelize } from 'sequelize';
import { translateDatabaseError } from '../../platform/database/errors.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { defineApplicationModel } from './application.model.ts';
import type { Application, Client, LinkedAgent } from './application.ts';
import type { ApplicationJwks } from './application-jwks.ts';

/** What a change may touch. */
export type ApplicationChange = Partial<
  Pick<Application, 'name' | 'audience' | 'scopes' | 'grantTypes' | 'agentId' | 'jwks'>
>;

/** What a list may ask for; each compares exactly. */
export type ApplicationFilters = {
  readonly name?: string | undefined;
  readonly agentId?: string | undefined;
};

/** Which client a token request is about. */
export type ClientKey = { readonly tenantId: string; readonly clientId: string };

type ClientRow = {
  tenant_id: string;
  id: string;
  name: string;
  audience: string | null;
  scopes: string[];
  grant_types: string[];
  jwks: ApplicationJwks | null;
  secret_ids: string[] | null;
  secret_hashes: Buffer[] | null;
  agent_id: string | null;
  agent_name: string;
  agent_capabilities: string[];
  agent_scopes: string[];
  agent_status: LinkedAgent['status'];
};

const FIND_CLIENTS = `
SELECT application.tenant_id, application.id, application.name, application.audience, application.scopes, application.grant_types, application.jwks,
       live.secret_ids, live.secret_hashes,
       application.agent_id, agent.name AS agent_name, agent.capabilities AS agent_capabilities, agent.scopes AS agent_scopes,
       CASE WHEN agent.deleted_at IS NULL THEN agent.status ELSE 'deleted' END AS agent_status
FROM unnest($1::uuid[], $2::uuid[]) AS wanted (tenant_id, id)
JOIN applications application ON application.id = wanted.id AND application.tenant_id = wanted.tenant_id
LEFT JOIN agents agent ON agent.id = application.agent_id
LEFT JOIN LATERAL (
  SELECT array_agg(secret.id ORDER BY secret.id) AS secret_ids, array_agg(secret.hash ORDER BY secret.id) AS secret_hashes
  FROM application_secrets secret
  WHERE secret.application_id = application.id AND (secret.expires_at IS NULL OR secret.expires_at > now())
) AS live ON true
WHERE application.deleted_at IS NULL`;

/** SQL of `applications`. @param database for statements outside a transaction that need no model */
export function createApplicationStore({
  database,
  sequelize,
}: {
  database: Queryable;
  sequelize: Sequelize;
}) {
  const model = defineApplicationModel(sequelize);
  const present = { deletedAt: null };

  return {
    insert: async (
      transaction: Transaction,
      application: Omit<Application, 'createdAt' | 'updatedAt'>,
    ): Promise<Application> => {
      const row = await model
        .create(application, { transaction: transaction.sequelize, returning: true })
        .catch(translate);
      return row.get({ plain: true });
    },

    /** Changes the given fields. @returns the row afterwards, undefined when there is none */
    update: async (
      transaction: Transaction,
      tenantId: string,
      id: string,
      change: ApplicationChange | { deletedAt: 'now' },
    ): Promise<Application | undefined> => {
      const now = sequelize.fn('now');
      const fields = 'deletedAt' in change ? { deletedAt: now } : change;
      const [, rows] = await model
        .update(
          { ...fields, updatedAt: now },
          { where: { id, tenantId, ...present }, transaction: transaction.sequelize, returning: true },
        )
        .catch(translate);
      return rows[0]?.get({ plain: true });
    },

    /** Whether the application is there. One indexed read. */
    exists: async (tenantId: string, id: string): Promise<boolean> => {
      const { rowCount } = await database.query(
        'SELECT 1 FROM applications WHERE id = $1 AND tenant_id = $2 AND deleted_at IS NULL',
        [id, tenantId],
      );
      return rowCount > 0;
    },

    find: async (tenantId: string, id: string): Promise<Application | undefined> => {
      const row = await model.findOne({ where: { id, tenantId, ...present } }).catch(translate);
      return row?.get({ plain: true });
    },

    /** Reads an application and keeps everybody else from changing it until the transaction ends. */
    lock: async (
      transaction: Transaction,
      tenantId: string,
      id: string,
    ): Promise<Application | undefined> => {
      const row = await model.findOne({
        where: { id, tenantId, ...present },
        transaction: transaction.sequelize,
        lock: transaction.sequelize.LOCK.NO_KEY_UPDATE,
      });
      return row?.get({ plain: true });
    },

    /** The newest first. @param page.after id of the last one that was seen @param page.limit all, unless said */
    list: async (
      tenantId: string,
      page: { after?: string | undefined; limit?: number | undefined } & ApplicationFilters,
    ): Promise<Application[]> => {
      const rows = await model
        .findAll({
          where: {
            tenantId,
            ...present,
            ...(page.name === undefined ? {} : { name: page.name }),
            ...(page.agentId === undefined ? {} : { agentId: page.agentId }),
            ...(page.after === undefined ? {} : { id: { [Op.lt]: page.after } }),
          },
          order: [['id', 'DESC']],
          ...(page.limit === undefined ? {} : { limit: page.limit }),
        })
        .catch(translate);
      return rows.map((row) => row.get({ plain: true }));
    },

    /** Scopes of an agent that is there, which an application wants to act for. */
    findAgentScopes: async (
      unit: Queryable,
      tenantId: string,
      agentId: string,
    ): Promise<readonly string[] | undefined> => {
      const { rows } = await unit.query<{ scopes: string[] }>(
        'SELECT scopes FROM agents WHERE id = $1 AND tenant_id = $2 AND deleted_at IS NULL',
        [agentId, tenantId],
      );
      return rows[0]?.scopes;
    },

    /**
     * Everything that token requests of these clients depend on, as it is now. One round trip.
     * @returns a client or undefined for each key, in their order
     */
    findClients: async (keys: readonly ClientKey[]): Promise<(Client | undefined)[]> => {
      const wanted = [...new Map(keys.map((key) => [nameOf(key), key])).values()];
      const { rows } = await database.query<ClientRow>(FIND_CLIENTS, [
        wanted.map(({ tenantId }) => tenantId),
        wanted.map(({ clientId }) => clientId),
      ]);
      const clients = new Map(
        rows.map((row) => [nameOf({ tenantId: row.tenant_id, clientId: row.id }), readClient(row)]),
      );
      return keys.map((key) => clients.get(nameOf(key)));
    },
  };
}

export type ApplicationStore = ReturnType<typeof createApplicationStore>;

/** A UUID may be sent in capitals. */
function nameOf({ tenantId, clientId }: ClientKey): string {
  return `${tenantId}:${clientId.toLowerCase()}`;
}

function readClient(row: ClientRow): Client {
  return {
    id: row.id,
    name: row.name,
    audience: row.audience,
    scopes: row.scopes,
    grantTypes: row.grant_types,
    secrets: (row.secret_hashes ?? []).map((hash, index) => ({ id: row.secret_ids?.[index] ?? '', hash })),
    keys: row.jwks?.keys ?? [],
    agent:
      row.agent_id === null
        ? undefined
        : {
            id: row.agent_id,
            name: row.agent_name,
            capabilities: row.agent_capabilities,
            scopes: row.agent_scopes,
            status: row.agent_status,
          },
  };
}

function translate(error: unknown): never {
  throw translateDatabaseError(error);
}

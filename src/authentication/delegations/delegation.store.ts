// SQL of delegations. Each statement is bound to one tenant. All times come from the database's clock.
import { columnsOf } from '../../platform/columns.ts';
import { existenceIn } from '../../platform/database/existence.ts';
import { type Page, type PageRequest, toPage } from '../../platform/database/page.ts';
import { columnNames, selectList } from '../../platform/database/table.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import type { Given } from '../../platform/given.ts';
import type { StoredUser } from '../users/user.service.ts';
import { DELEGATION, type DelegationRow } from './delegation.model.ts';
import type { Delegation, DelegationCandidate, DelegationRequest } from './delegation.ts';

/** `digests`: those by which a user may be stored. */
export type DelegationFilters = Given<Pick<Delegation, 'agentId' | 'status'>> & {
  readonly digests?: readonly string[] | undefined;
};

export type NewDelegationRow = Pick<
  Delegation,
  'id' | 'tenantId' | 'agentId' | 'scopes' | 'audience' | 'expiresAt'
> & { readonly userId: string };

/** A delegation with its sealed user: null after the user was forgotten. */
export type StoredDelegation = Omit<Delegation, 'subject'> &
  Pick<DelegationRow, 'userId'> & {
    readonly [Name in 'nameSealed' | 'keySealed']: StoredUser[Name] | null;
  };

/** A request of a batch, of any tenant. `digests`: those by which the user may be stored. */
export type ExchangeRequest = Omit<DelegationRequest, 'subject'> & {
  readonly tenantId: string;
  readonly digests: readonly string[];
};

type CandidateRow = DelegationCandidate['delegation'] &
  Pick<DelegationCandidate, 'agentStatus' | 'linksActive' | 'isOfClient'> & {
    n: number;
    agentId: string;
    tenantId: string;
    userId: string;
    nameSealed: Buffer;
    keySealed: Buffer;
    agentName: string;
    agentCapabilities: string[];
    agentScopes: string[];
    agentAudience: string | null;
    agentAudiences: string[];
    agentIsBound: boolean;
  };

const COLUMNS = `${selectList(DELEGATION, columnNames(DELEGATION, ['expiredAt']))}, status, user_name AS "nameSealed", user_key AS "keySealed"`;

const INSERT = `
INSERT INTO delegations (id, tenant_id, agent_id, user_id, scopes, audience, expires_at)
SELECT $1, $2, $3, $4, $5::text[], $6, $7::timestamptz
WHERE $7::timestamptz > now() AND $7::timestamptz <= now() + interval '1 year'
RETURNING id`;

const LIST = `
SELECT ${COLUMNS} FROM delegation_records
WHERE tenant_id = $1 AND ($2::uuid IS NULL OR id < $2) AND ($3::uuid IS NULL OR agent_id = $3) AND ($4::text IS NULL OR status = $4)
  AND ($5::text[] IS NULL OR user_id IN (SELECT id FROM users WHERE tenant_id = $1 AND digest = ANY ($5)))
ORDER BY id DESC LIMIT $6`;

const FORGET = `
WITH locked AS (
  SELECT id, revoked_at IS NULL AS is_new, revoked_at IS NULL AND expired_at IS NULL AS is_open
  FROM delegations WHERE user_id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE
)
UPDATE delegations SET revoked_at = coalesce(revoked_at, date_trunc('milliseconds', clock_timestamp())),
  revoked_reason = CASE WHEN is_new THEN 'user_forgotten' END
FROM locked WHERE delegations.id = locked.id
RETURNING delegations.id, agent_id AS "agentId", user_id AS "userId", scopes, is_new AS "isNew", is_open AS "isOpen"`;

const inWords = (words: readonly string[] | undefined): string => (words ?? []).join(' ');

const REQUESTS = columnsOf<{ request: ExchangeRequest; n: number }>(
  { int: ['n'] },
  {
    tenant_id: ['uuid', ({ request }) => request.tenantId],
    digests: ['text', ({ request }) => inWords(request.digests)],
    agent_id: ['uuid', ({ request }) => request.agentId],
    scopes: ['text', ({ request }) => inWords(request.scopes)],
    audience: ['text', ({ request }) => request.audience ?? null],
    links: ['text', ({ request }) => inWords(request.links)],
    client_id: ['uuid', ({ request }) => request.client.id],
    client_version: ['text', ({ request }) => request.client.version],
  },
);

// Usable delegations are preferred, then those with all requested scopes and the audience, then the newest. The lock
// makes a revocation or suspension wait for a running exchange. An exchange that waits for them reads the changed row
// then. So does a change of the client; its linked agent is that of the delegation. The status is that after the wait.
// IS NOT DISTINCT FROM keeps the planner from the index of agents, of whom one may have a delegation of each user.
const findForExchangesBy = (locked: '' | ' SKIP LOCKED') => `
SELECT locked.*, request.n, request.agent_id AS "agentId",
       CASE WHEN "revokedAt" IS NOT NULL THEN 'revoked'
            WHEN "expiresAt" <= clock_timestamp() THEN 'expired' ELSE 'active' END AS status
FROM ${REQUESTS.from('request')} CROSS JOIN LATERAL (
SELECT delegation.id, delegation.tenant_id AS "tenantId", delegation.scopes, delegation.audience, delegation.expires_at AS "expiresAt", delegation.revoked_at AS "revokedAt",
       person.id AS "userId", person.name AS "nameSealed", person.key_sealed AS "keySealed", agent.name AS "agentName", agent.capabilities AS "agentCapabilities", agent.scopes AS "agentScopes",
       agent.audience AS "agentAudience", agent.audiences AS "agentAudiences", agent.dpop_bound_access_tokens AS "agentIsBound",
       CASE WHEN agent.deleted_at IS NULL THEN agent.status ELSE 'deleted' END AS "agentStatus",
       concat_ws('.', client.xmin, CASE WHEN client.agent_id = agent.id THEN agent.xmin END) = request.client_version AS "isOfClient",
       NOT EXISTS (SELECT 1 FROM unnest(string_to_array(request.links, ' ')::uuid[]) AS link (id) WHERE NOT EXISTS (
         SELECT 1 FROM agents WHERE agents.id = link.id AND agents.tenant_id = request.tenant_id
           AND agents.status = 'active' AND agents.deleted_at IS NULL)) AS "linksActive"
FROM delegations delegation
JOIN agents agent ON agent.id = delegation.agent_id
JOIN users person ON person.id = delegation.user_id
JOIN applications client ON client.id = request.client_id AND client.tenant_id = request.tenant_id
WHERE delegation.id = (
  SELECT delegations.id FROM users JOIN delegations ON delegations.user_id = users.id
  WHERE users.tenant_id = request.tenant_id AND users.digest = ANY (string_to_array(request.digests, ' '))
    AND delegations.agent_id IS NOT DISTINCT FROM request.agent_id
  ORDER BY revoked_at IS NULL AND expires_at > clock_timestamp() DESC,
           scopes @> string_to_array(request.scopes, ' ') AND (request.audience IS NULL OR audience IS NULL OR audience = request.audience) DESC,
           delegations.id DESC
  LIMIT 1)
FOR KEY SHARE OF delegation, agent, client${locked}
) AS locked`;

const FIND_FOR_EXCHANGES = {
  waiting: findForExchangesBy(''),
  skipping: findForExchangesBy(' SKIP LOCKED'),
};

/** @returns false when `expiresAt` is not in the future, or more than a year away */
export async function insert(unit: Transaction, row: NewDelegationRow): Promise<boolean> {
  const { id, tenantId, agentId, userId, scopes, audience, expiresAt } = row;
  const values = [id, tenantId, agentId, userId, scopes, audience, expiresAt];
  const { rows } = await unit.query<{ id: string }>(INSERT, values);
  return rows.length > 0;
}

export async function find(
  queryable: Queryable,
  tenantId: string,
  id: string,
): Promise<StoredDelegation | undefined> {
  const { rows } = await queryable.query<StoredDelegation>(
    `SELECT ${COLUMNS} FROM delegation_records WHERE tenant_id = $1 AND id = $2`,
    [tenantId, id],
  );
  return rows[0];
}

export const exists = existenceIn('delegations');

/** Lists delegations, newest first. */
export async function list(
  queryable: Queryable,
  tenantId: string,
  { limit, cursor, agentId, status, digests }: PageRequest & DelegationFilters,
): Promise<Page<StoredDelegation>> {
  const filters = [cursor, agentId, status, digests].map((value) => value ?? null);
  const { rows } = await queryable.query<StoredDelegation>(LIST, [tenantId, ...filters, limit + 1]);
  return toPage(rows, limit);
}

/**
 * Locks a delegation until the transaction ends. Waits for running exchanges.
 * @returns undefined when it does not exist; `isOpen`: not revoked, and its end is not recorded
 */
export async function lock(
  unit: Transaction,
  tenantId: string,
  id: string,
): Promise<{ isOpen: boolean } | undefined> {
  const { rows } = await unit.query<{ isOpen: boolean }>(
    `SELECT revoked_at IS NULL AND expired_at IS NULL AS "isOpen" FROM delegations
         WHERE tenant_id = $1 AND id = $2 FOR UPDATE`,
    [tenantId, id],
  );
  return rows[0];
}

/** Revokes a delegation that the transaction has locked. */
export async function markRevoked(unit: Transaction, id: string, reason: string | null): Promise<void> {
  await unit.query(
    `UPDATE delegations SET revoked_at = date_trunc('milliseconds', clock_timestamp()), revoked_reason = $2 WHERE id = $1`,
    [id, reason],
  );
}

/**
 * Revokes all delegations of users who are forgotten, and removes the reasons of earlier revocations, which may name
 * them. Waits for running exchanges. @returns those that were not revoked before; `isOpen`: the end is not recorded
 */
export async function markForgotten(
  unit: Transaction,
  userIds: readonly string[],
): Promise<(Pick<StoredDelegation, 'id' | 'agentId' | 'scopes'> & { userId: string; isOpen: boolean })[]> {
  const { rows } = await unit.query<
    Pick<StoredDelegation, 'id' | 'agentId' | 'scopes'> & { userId: string; isOpen: boolean; isNew: boolean }
  >(FORGET, [userIds]);
  return rows.filter(({ isNew }) => isNew);
}

/**
 * Finds the best delegation for each request and locks it against revocation, in one round trip.
 * @param mode `waiting`: for the transactions that change it or its agent; `skipping`: what they change is not found
 */
export async function findForExchanges(
  unit: Queryable,
  requests: readonly ExchangeRequest[],
  mode: keyof typeof FIND_FOR_EXCHANGES,
): Promise<(DelegationCandidate | undefined)[]> {
  const values = REQUESTS.of(requests.map((request, n) => ({ request, n })));
  const { rows } = await unit.query<CandidateRow>(FIND_FOR_EXCHANGES[mode], values);
  const found = new Map(rows.map((row) => [row.n, toCandidate(row)]));
  return requests.map((_, n) => found.get(n));
}

function toCandidate(row: CandidateRow): DelegationCandidate {
  const { id, scopes, audience, status, expiresAt, agentStatus, linksActive, isOfClient } = row;
  const { userId, tenantId, nameSealed, keySealed } = row;
  return {
    delegation: { id, scopes, audience, status, expiresAt },
    user: { id: userId, tenantId, nameSealed, keySealed },
    agent: {
      id: row.agentId,
      name: row.agentName,
      capabilities: row.agentCapabilities,
      scopes: row.agentScopes,
      audience: row.agentAudience,
      audiences: row.agentAudiences,
      dpopBoundAccessTokens: row.agentIsBound,
    },
    agentStatus,
    linksActive,
    isOfClient,
  };
}

// SQL of delegations. Each statement is bound to one tenant. All times come from the database's clock.
import { columnsOf } from '../../platform/columns.ts';
import { existenceIn } from '../../platform/database/existence.ts';
import { type Flat, nestRow } from '../../platform/database/nested-row.ts';
import { changed, many, one, paged } from '../../platform/database/statements.ts';
import { columnNames, selectList } from '../../platform/database/table.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import type { StoredUser } from '../users/user.service.ts';
import { DELEGATION, type DelegationRow } from './delegation.model.ts';
import type { Delegation, DelegationCandidate, DelegationRequest } from './delegation.ts';

/** A delegation with its sealed user: null after the user was forgotten. */
export type StoredDelegation = Omit<Delegation, 'subject'> &
  Pick<DelegationRow, 'userId'> & {
    readonly [Name in 'nameSealed' | 'keySealed']: StoredUser[Name] | null;
  };

const COLUMNS = `${selectList(DELEGATION, columnNames(DELEGATION, ['expiredAt']))}, status, user_name AS name_sealed, user_key AS key_sealed`;

/** @returns false when `expiresAt` is not in the future, or more than a year away */
export const insert = changed<
  [
    ...[id: string, tenantId: string, agentId: string, userId: string],
    ...[scopes: readonly string[], audience: string | null, expiresAt: Date],
  ]
>(`
INSERT INTO delegations (id, tenant_id, agent_id, user_id, scopes, audience, expires_at)
SELECT $1, $2, $3, $4, $5::text[], $6, $7::timestamptz
WHERE $7::timestamptz > now() AND $7::timestamptz <= now() + interval '1 year'`);

export const find = one<StoredDelegation, [tenantId: string, id: string]>(
  `SELECT ${COLUMNS} FROM delegation_records WHERE tenant_id = $1 AND id = $2`,
);

export const exists = existenceIn('delegations');

/** Lists delegations, newest first. `digests`: those by which a user may be stored. */
export const list = paged<
  StoredDelegation,
  [
    tenantId: string,
    agentId: string | undefined,
    status: Delegation['status'] | undefined,
    digests: readonly string[] | undefined,
  ]
>(`
SELECT ${COLUMNS} FROM delegation_records
WHERE tenant_id = $3 AND ($1::uuid IS NULL OR id < $1) AND ($4::uuid IS NULL OR agent_id = $4) AND ($5::text IS NULL OR status = $5)
  AND ($6::text[] IS NULL OR user_id IN (SELECT id FROM users WHERE tenant_id = $3 AND digest = ANY ($6)))
ORDER BY id DESC LIMIT $2`);

/**
 * Locks a delegation until the transaction ends. Waits for running exchanges.
 * @returns undefined when it does not exist; `isOpen`: not revoked, and its end is not recorded
 */
export const lock = one<{ isOpen: boolean }, [tenantId: string, id: string]>(`
SELECT revoked_at IS NULL AND expired_at IS NULL AS is_open FROM delegations
WHERE tenant_id = $1 AND id = $2 FOR UPDATE`);

/** Revokes a delegation that the transaction has locked. */
export const markRevoked = changed<[id: string, reason: string | null]>(
  `UPDATE delegations SET revoked_at = date_trunc('milliseconds', clock_timestamp()), revoked_reason = $2 WHERE id = $1`,
);

type Forgotten = Pick<DelegationRow, 'id' | 'agentId' | 'userId' | 'scopes'> & {
  readonly [Mark in 'isNew' | 'isOpen']: boolean;
};

const forget = many<Forgotten, [userIds: readonly string[]]>(`
WITH locked AS (
  SELECT id, revoked_at IS NULL AS is_new, revoked_at IS NULL AND expired_at IS NULL AS is_open
  FROM delegations WHERE user_id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE
)
UPDATE delegations SET revoked_at = coalesce(revoked_at, date_trunc('milliseconds', clock_timestamp())),
  revoked_reason = CASE WHEN is_new THEN 'user_forgotten' END
FROM locked WHERE delegations.id = locked.id
RETURNING delegations.id, agent_id, user_id, scopes, is_new, is_open`);

/**
 * Revokes all delegations of users who are forgotten, and removes the reasons of earlier revocations, which may name
 * them. Waits for running exchanges. @returns those that were not revoked before; `isOpen`: the end is not recorded
 */
export async function markForgotten(unit: Transaction, userIds: readonly string[]): Promise<Forgotten[]> {
  return (await forget(unit, userIds)).filter(({ isNew }) => isNew);
}

/** A request of a batch, of any tenant. `digests`: those by which the user may be stored. */
export type ExchangeRequest = Omit<DelegationRequest, 'subject'> & {
  readonly tenantId: string;
  readonly digests: readonly string[];
};

const inWords = (words: readonly string[] | undefined): string => (words ?? []).join(' ');

const REQUESTS = columnsOf<ExchangeRequest & { readonly n: number }>(
  { int: ['n'], uuid: ['tenantId', 'agentId'], text: ['audience'] },
  {
    digests: ['text', ({ digests }) => inWords(digests)],
    scopes: ['text', ({ scopes }) => inWords(scopes)],
    links: ['text', ({ links }) => inWords(links)],
    client_id: ['uuid', ({ client }) => client.id],
    client_version: ['text', ({ client }) => client.version],
  },
);

type CandidateRow = DelegationCandidate & { readonly n: number; readonly revokedAt: Date | null };

// Usable delegations are preferred, then those with all requested scopes and the audience, then the newest. The lock
// makes a revocation or suspension wait for a running exchange. An exchange that waits for them reads the changed row
// then. So does a change of the client; its linked agent is that of the delegation. The status is that after the wait.
// IS NOT DISTINCT FROM keeps the planner from the index of agents, of whom one may have a delegation of each user.
const findBest = (locked: '' | ' SKIP LOCKED') =>
  many<Flat<CandidateRow, 'delegation' | 'user' | 'agent'>, unknown[]>(`
SELECT locked.*, request.n, request.agent_id AS "agent.id",
       CASE WHEN revoked_at IS NOT NULL THEN 'revoked'
            WHEN "delegation.expires_at" <= clock_timestamp() THEN 'expired' ELSE 'active' END AS "delegation.status"
FROM ${REQUESTS.from('request')} CROSS JOIN LATERAL (
SELECT delegation.id AS "delegation.id", delegation.scopes AS "delegation.scopes", delegation.audience AS "delegation.audience",
       delegation.expires_at AS "delegation.expires_at", delegation.revoked_at,
       person.id AS "user.id", delegation.tenant_id AS "user.tenant_id", person.name AS "user.name_sealed", person.key_sealed AS "user.key_sealed",
       agent.name AS "agent.name", agent.capabilities AS "agent.capabilities", agent.scopes AS "agent.scopes", agent.audience AS "agent.audience",
       agent.audiences AS "agent.audiences", agent.dpop_bound_access_tokens AS "agent.dpop_bound_access_tokens",
       CASE WHEN agent.deleted_at IS NULL THEN agent.status ELSE 'deleted' END AS agent_status,
       concat_ws('.', client.xmin, CASE WHEN client.agent_id = agent.id THEN agent.xmin END) = request.client_version AS is_of_client,
       NOT EXISTS (SELECT 1 FROM unnest(string_to_array(request.links, ' ')::uuid[]) AS link (id) WHERE NOT EXISTS (
         SELECT 1 FROM agents WHERE agents.id = link.id AND agents.tenant_id = request.tenant_id
           AND agents.status = 'active' AND agents.deleted_at IS NULL)) AS links_active
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
) AS locked`);

const BEST = { waiting: findBest(''), skipping: findBest(' SKIP LOCKED') } as const;

/**
 * Finds the best delegation for each request and locks it against revocation, in one round trip.
 * @param mode `waiting`: for the transactions that change it or its agent; `skipping`: what they change is not found
 */
export async function findForExchanges(
  unit: Queryable,
  requests: readonly ExchangeRequest[],
  mode: keyof typeof BEST,
): Promise<(DelegationCandidate | undefined)[]> {
  const rows = await BEST[mode](unit, ...REQUESTS.of(requests.map((request, n) => ({ ...request, n }))));
  const found = new Map(
    rows.map((row) => {
      const { n, revokedAt: _, ...candidate } = nestRow<CandidateRow>(row);
      return [n, candidate];
    }),
  );
  return requests.map((_, n) => found.get(n));
}

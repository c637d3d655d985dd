// SQL of delegations. Each statement is bound to one tenant. All times come from the database's clock.
import { columnsOf } from '../../platform/columns.ts';
import { existenceIn } from '../../platform/database/existence.ts';
import { type Page, type PageRequest, toPage } from '../../platform/database/page.ts';
import { columnNames, selectList } from '../../platform/database/table.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import type { Given } from '../../platform/given.ts';
import { DELEGATION, type DelegationRow } from './delegation.model.ts';
import type { Delegation, DelegationCandidate, DelegationRequest } from './delegation.ts';

export type DelegationFilters = Given<Pick<Row, 'agentId' | 'status' | 'subjectIssuer' | 'subjectSub'>>;

export type NewDelegationRow = Pick<
  Delegation,
  'id' | 'tenantId' | 'agentId' | 'subject' | 'scopes' | 'audience' | 'expiresAt'
>;

type Row = Omit<Delegation, 'subject'> & Pick<DelegationRow, 'subjectIssuer' | 'subjectSub'>;

/** A request of a batch, of any tenant. */
export type ExchangeRequest = DelegationRequest & { readonly tenantId: string };

type CandidateRow = DelegationCandidate['delegation'] &
  Pick<DelegationCandidate, 'agentStatus' | 'linksActive'> & {
    n: number;
    agentId: string;
    agentName: string;
    agentCapabilities: string[];
    agentScopes: string[];
    agentAudience: string | null;
    agentAudiences: string[];
    agentIsBound: boolean;
  };

const COLUMNS = selectList(DELEGATION, columnNames(DELEGATION, ['expiredAt']));

const INSERT = `
INSERT INTO delegations (id, tenant_id, agent_id, subject_issuer, subject_sub, scopes, audience, expires_at)
SELECT $1, $2, $3, $4, $5, $6::text[], $7, $8::timestamptz
WHERE $8::timestamptz > now() AND $8::timestamptz <= now() + interval '1 year'
RETURNING id`;

const LIST = `
SELECT ${COLUMNS}, status FROM delegation_records
WHERE tenant_id = $1 AND ($2::uuid IS NULL OR id < $2) AND ($3::uuid IS NULL OR agent_id = $3) AND ($4::text IS NULL OR status = $4)
  AND ($5::text IS NULL OR subject_issuer = $5) AND ($6::text IS NULL OR subject_sub = $6)
ORDER BY id DESC LIMIT $7`;

const inWords = (words: readonly string[] | undefined): string => (words ?? []).join(' ');

const REQUESTS = columnsOf<{ request: ExchangeRequest; n: number }>(
  { int: ['n'] },
  {
    tenant_id: ['uuid', ({ request }) => request.tenantId],
    issuer: ['text', ({ request }) => request.subject.issuer],
    sub: ['text', ({ request }) => request.subject.sub],
    agent_id: ['uuid', ({ request }) => request.agentId],
    scopes: ['text', ({ request }) => inWords(request.scopes)],
    audience: ['text', ({ request }) => request.audience ?? null],
    links: ['text', ({ request }) => inWords(request.links)],
  },
);

// Usable delegations are preferred, then those with all requested scopes and the audience, then the newest. The lock
// makes a revocation or suspension wait for a running exchange. An exchange that waits for them reads the changed row
// then. The status is that after the wait.
const findForExchangesBy = (locked: '' | ' SKIP LOCKED') => `
SELECT locked.*, request.n, request.agent_id AS "agentId",
       CASE WHEN "revokedAt" IS NOT NULL THEN 'revoked'
            WHEN "expiresAt" <= clock_timestamp() THEN 'expired' ELSE 'active' END AS status
FROM ${REQUESTS.from('request')} CROSS JOIN LATERAL (
SELECT delegation.id, delegation.scopes, delegation.audience, delegation.expires_at AS "expiresAt", delegation.revoked_at AS "revokedAt",
       agent.name AS "agentName", agent.capabilities AS "agentCapabilities", agent.scopes AS "agentScopes",
       agent.audience AS "agentAudience", agent.audiences AS "agentAudiences", agent.dpop_bound_access_tokens AS "agentIsBound",
       CASE WHEN agent.deleted_at IS NULL THEN agent.status ELSE 'deleted' END AS "agentStatus",
       NOT EXISTS (SELECT 1 FROM unnest(string_to_array(request.links, ' ')::uuid[]) AS link (id) WHERE NOT EXISTS (
         SELECT 1 FROM agents WHERE agents.id = link.id AND agents.tenant_id = request.tenant_id
           AND agents.status = 'active' AND agents.deleted_at IS NULL)) AS "linksActive"
FROM delegations delegation
JOIN agents agent ON agent.id = delegation.agent_id
WHERE delegation.id = (
  SELECT id FROM delegations
  WHERE tenant_id = request.tenant_id AND subject_issuer = request.issuer AND subject_sub = request.sub AND agent_id = request.agent_id
  ORDER BY revoked_at IS NULL AND expires_at > clock_timestamp() DESC,
           scopes @> string_to_array(request.scopes, ' ') AND (request.audience IS NULL OR audience IS NULL OR audience = request.audience) DESC,
           id DESC
  LIMIT 1)
FOR KEY SHARE OF delegation, agent${locked}
) AS locked`;

const FIND_FOR_EXCHANGES = {
  waiting: findForExchangesBy(''),
  skipping: findForExchangesBy(' SKIP LOCKED'),
};

/** @returns false when `expiresAt` is not in the future, or more than a year away */
export async function insert(unit: Transaction, row: NewDelegationRow): Promise<boolean> {
  const { id, tenantId, agentId, subject, scopes, audience, expiresAt } = row;
  const values = [id, tenantId, agentId, subject.issuer, subject.sub, scopes, audience, expiresAt];
  const { rows } = await unit.query<{ id: string }>(INSERT, values);
  return rows.length > 0;
}

export async function find(
  queryable: Queryable,
  tenantId: string,
  id: string,
): Promise<Delegation | undefined> {
  const { rows } = await queryable.query<Row>(
    `SELECT ${COLUMNS}, status FROM delegation_records WHERE tenant_id = $1 AND id = $2`,
    [tenantId, id],
  );
  return rows[0] === undefined ? undefined : toDelegation(rows[0]);
}

export const exists = existenceIn('delegations');

/** Lists delegations, newest first. */
export async function list(
  queryable: Queryable,
  tenantId: string,
  { limit, cursor, agentId, status, subjectIssuer, subjectSub }: PageRequest & DelegationFilters,
): Promise<Page<Delegation>> {
  const filters = [cursor, agentId, status, subjectIssuer, subjectSub].map((value) => value ?? null);
  const { rows } = await queryable.query<Row>(LIST, [tenantId, ...filters, limit + 1]);
  return toPage(rows.map(toDelegation), limit);
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

function toDelegation({ subjectIssuer, subjectSub, ...row }: Row): Delegation {
  return { ...row, subject: { issuer: subjectIssuer, sub: subjectSub } };
}

function toCandidate(row: CandidateRow): DelegationCandidate {
  const { id, scopes, audience, status, expiresAt, agentStatus, linksActive } = row;
  return {
    delegation: { id, scopes, audience, status, expiresAt },
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
  };
}

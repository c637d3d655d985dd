// SQL of delegations. Each statement is bound to one tenant. All times come from the database's clock.
import { existenceIn } from '../../platform/database/existence.ts';
import { type Page, type PageRequest, toPage } from '../../platform/database/page.ts';
import { selectList } from '../../platform/database/table.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { DELEGATION, type DelegationRow } from './delegation.model.ts';
import type { Delegation, DelegationCandidate, DelegationRequest, DelegationStatus } from './delegation.ts';

export type DelegationFilters = {
  readonly agentId?: string | undefined;
  readonly status?: DelegationStatus | undefined;
  readonly subjectIssuer?: string | undefined;
  readonly subjectSub?: string | undefined;
};

export type NewDelegationRow = Pick<
  Delegation,
  'id' | 'tenantId' | 'agentId' | 'subject' | 'scopes' | 'audience' | 'expiresAt'
>;

type Row = Omit<Delegation, 'subject'> & Pick<DelegationRow, 'subjectIssuer' | 'subjectSub'>;

type CandidateRow = DelegationCandidate['delegation'] &
  Pick<DelegationCandidate, 'agentStatus' | 'linksActive'> & {
    agentName: string;
    agentCapabilities: string[];
    agentScopes: string[];
    agentAudience: string | null;
    agentAudiences: string[];
    agentIsBound: boolean;
  };

const COLUMNS = selectList(DELEGATION, [
  'id',
  'tenantId',
  'agentId',
  'subjectIssuer',
  'subjectSub',
  'scopes',
  'audience',
  'expiresAt',
  'createdAt',
  'revokedAt',
  'revokedReason',
]);

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

// Usable delegations are preferred, then those with all requested scopes and the audience, then the newest. The lock
// makes a revocation or suspension wait for a running exchange. An exchange also waits for them, and then reads the
// changed row. The status is that after the wait.
const FIND_FOR_EXCHANGE = `
SELECT locked.*, CASE WHEN "revokedAt" IS NOT NULL THEN 'revoked'
                      WHEN "expiresAt" <= clock_timestamp() THEN 'expired' ELSE 'active' END AS status
FROM (
SELECT delegation.id, delegation.scopes, delegation.audience, delegation.expires_at AS "expiresAt", delegation.revoked_at AS "revokedAt",
       agent.name AS "agentName", agent.capabilities AS "agentCapabilities", agent.scopes AS "agentScopes",
       agent.audience AS "agentAudience", agent.audiences AS "agentAudiences", agent.dpop_bound_access_tokens AS "agentIsBound",
       CASE WHEN agent.deleted_at IS NULL THEN agent.status ELSE 'deleted' END AS "agentStatus",
       NOT EXISTS (SELECT 1 FROM unnest($7::uuid[]) AS link (id) WHERE NOT EXISTS (
         SELECT 1 FROM agents WHERE agents.id = link.id AND agents.tenant_id = $1
           AND agents.status = 'active' AND agents.deleted_at IS NULL)) AS "linksActive"
FROM delegations delegation
JOIN agents agent ON agent.id = delegation.agent_id
WHERE delegation.tenant_id = $1 AND delegation.subject_issuer = $2 AND delegation.subject_sub = $3 AND delegation.agent_id = $4
ORDER BY delegation.revoked_at IS NULL AND delegation.expires_at > clock_timestamp() DESC,
         delegation.scopes @> $5::text[] AND ($6::text IS NULL OR delegation.audience IS NULL OR delegation.audience = $6) DESC,
         delegation.id DESC
LIMIT 1
FOR KEY SHARE OF delegation, agent
) AS locked`;

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

/** Finds the best delegation for a request and locks it against revocation. One round trip. */
export async function findForExchange(
  unit: Queryable,
  tenantId: string,
  { subject, agentId, scopes, audience, links }: DelegationRequest,
): Promise<DelegationCandidate | undefined> {
  const { rows } = await unit.query<CandidateRow>(FIND_FOR_EXCHANGE, [
    tenantId,
    subject.issuer,
    subject.sub,
    agentId,
    scopes ?? [],
    audience ?? null,
    links ?? [],
  ]);
  return rows[0] === undefined ? undefined : toCandidate(rows[0], agentId);
}

function toDelegation({ subjectIssuer, subjectSub, ...row }: Row): Delegation {
  return { ...row, subject: { issuer: subjectIssuer, sub: subjectSub } };
}

function toCandidate(row: CandidateRow, agentId: string): DelegationCandidate {
  const { id, scopes, audience, status, expiresAt, agentStatus, linksActive } = row;
  return {
    delegation: { id, scopes, audience, status, expiresAt },
    agent: {
      id: agentId,
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

// All SQL of delegations. Every statement is bound to one tenant, and every judgement of time is the database's.
import { decodeCursor, type Page, type PageRequest, toPage } from '../../platform/database/page.ts';
import type { Queryable, Unit } from '../../platform/database/transaction.ts';
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

type Row = {
  id: string;
  tenant_id: string;
  agent_id: string;
  subject_issuer: string;
  subject_sub: string;
  scopes: string[];
  audience: string | null;
  status: DelegationStatus;
  expires_at: Date;
  created_at: Date;
  revoked_at: Date | null;
  revoked_reason: string | null;
};

type CandidateRow = Pick<Row, 'id' | 'scopes' | 'audience' | 'status' | 'expires_at'> & {
  agent_name: string;
  agent_capabilities: string[];
  agent_scopes: string[];
  agent_audience: string | null;
  agent_audiences: string[];
  agent_status: DelegationCandidate['agentStatus'];
  links_active: boolean;
};

const INSERT = `
INSERT INTO delegations (id, tenant_id, agent_id, subject_issuer, subject_sub, scopes, audience, expires_at)
SELECT $1, $2, $3, $4, $5, $6::text[], $7, $8::timestamptz
WHERE $8::timestamptz > now() AND $8::timestamptz <= now() + interval '1 year'
RETURNING id`;

const LIST = `
SELECT * FROM delegation_records
WHERE tenant_id = $1 AND ($2::uuid IS NULL OR id < $2) AND ($3::uuid IS NULL OR agent_id = $3) AND ($4::text IS NULL OR status = $4)
  AND ($5::text IS NULL OR subject_issuer = $5) AND ($6::text IS NULL OR subject_sub = $6)
ORDER BY id DESC LIMIT $7`;

// Usable ones first, then those that include all that is asked for, then the newest. The lock makes a revocation and a
// suspension wait for the exchange under way, and the exchange for them: it then sees the row as they left it.
const FIND_FOR_EXCHANGE = `
SELECT delegation.id, delegation.scopes, delegation.audience, delegation.expires_at,
       CASE WHEN delegation.revoked_at IS NOT NULL THEN 'revoked'
            WHEN delegation.expires_at <= clock_timestamp() THEN 'expired' ELSE 'active' END AS status,
       agent.name AS agent_name, agent.capabilities AS agent_capabilities, agent.scopes AS agent_scopes,
       agent.audience AS agent_audience, agent.audiences AS agent_audiences,
       CASE WHEN agent.deleted_at IS NULL THEN agent.status ELSE 'deleted' END AS agent_status,
       NOT EXISTS (SELECT 1 FROM unnest($7::uuid[]) AS link (id) WHERE NOT EXISTS (
         SELECT 1 FROM agents WHERE agents.id = link.id AND agents.tenant_id = $1
           AND agents.status = 'active' AND agents.deleted_at IS NULL)) AS links_active
FROM delegations delegation
JOIN agents agent ON agent.id = delegation.agent_id
WHERE delegation.tenant_id = $1 AND delegation.subject_issuer = $2 AND delegation.subject_sub = $3 AND delegation.agent_id = $4
ORDER BY delegation.revoked_at IS NULL AND delegation.expires_at > clock_timestamp() DESC,
         delegation.scopes @> $5::text[] AND ($6::text IS NULL OR delegation.audience IS NULL OR delegation.audience = $6) DESC,
         delegation.id DESC
LIMIT 1
FOR KEY SHARE OF delegation, agent`;

/** @returns false when `expiresAt` is not in the future, or more than a year away */
export async function insert(unit: Unit, row: NewDelegationRow): Promise<boolean> {
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
    'SELECT * FROM delegation_records WHERE tenant_id = $1 AND id = $2',
    [tenantId, id],
  );
  return rows[0] === undefined ? undefined : readDelegation(rows[0]);
}

/** Whether the delegation is there. One indexed read. */
export async function exists(queryable: Queryable, tenantId: string, id: string): Promise<boolean> {
  const { rowCount } = await queryable.query('SELECT 1 FROM delegations WHERE id = $1 AND tenant_id = $2', [
    id,
    tenantId,
  ]);
  return rowCount > 0;
}

/** The newest first. @throws ServiceError `invalid_request` for a foreign cursor */
export async function list(
  queryable: Queryable,
  tenantId: string,
  { limit, cursor, agentId, status, subjectIssuer, subjectSub }: PageRequest & DelegationFilters,
): Promise<Page<Delegation>> {
  const after = decodeCursor(cursor);
  const filters = [after, agentId, status, subjectIssuer, subjectSub].map((value) => value ?? null);
  const { rows } = await queryable.query<Row>(LIST, [tenantId, ...filters, limit + 1]);
  return toPage(rows.map(readDelegation), limit);
}

/**
 * Locks a delegation until the transaction ends, exchanges under way included.
 * @returns undefined when there is none; `isOpen`: neither revoked nor is its end written down
 */
export async function lock(
  unit: Unit,
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
export async function markRevoked(unit: Unit, id: string, reason: string | null): Promise<void> {
  await unit.query(
    `UPDATE delegations SET revoked_at = date_trunc('milliseconds', clock_timestamp()), revoked_reason = $2 WHERE id = $1`,
    [id, reason],
  );
}

/** The delegation that suits a request best, kept from revocation until the caller's transaction ends. One round trip. */
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
  return rows[0] === undefined ? undefined : readCandidate(rows[0], agentId);
}

function readDelegation(row: Row): Delegation {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    agentId: row.agent_id,
    subject: { issuer: row.subject_issuer, sub: row.subject_sub },
    scopes: row.scopes,
    audience: row.audience,
    status: row.status,
    expiresAt: row.expires_at,
    createdAt: row.created_at,
    revokedAt: row.revoked_at,
    revokedReason: row.revoked_reason,
  };
}

function readCandidate(row: CandidateRow, agentId: string): DelegationCandidate {
  return {
    delegation: {
      id: row.id,
      scopes: row.scopes,
      audience: row.audience,
      status: row.status,
      expiresAt: row.expires_at,
    },
    agent: {
      id: agentId,
      name: row.agent_name,
      capabilities: row.agent_capabilities,
      scopes: row.agent_scopes,
      audience: row.agent_audience,
      audiences: row.agent_audiences,
    },
    agentStatus: row.agent_status,
    linksActive: row.links_active,
  };
}

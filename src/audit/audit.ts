// What one entry of the audit log says. An entry never holds a secret, a token or a signature.
import type { RequestContext, Tenant } from '../platform/context.ts';
import type { Transaction } from '../platform/database/transaction.ts';
import type { ErrorCode } from '../platform/errors/catalogue.ts';

export const ACTOR_KINDS = ['application', 'agent', 'operator', 'service', 'anonymous'] as const;

/** Who acted. `application` and `agent` carry their id, `operator` is the command line, `anonymous` showed no credential. */
export type AuditActor = {
  readonly kind: (typeof ACTOR_KINDS)[number];
  readonly id?: string | undefined;
};

export type AuditEntry = {
  /** Dotted, what was done or tried: `agent.created`, `auth.verify`. */
  readonly action: string;
  readonly outcome: 'success' | 'failure';
  /** What it was done to: `{ type: 'agent', id: '…' }`. */
  readonly target?: { readonly type: string; readonly id: string } | undefined;
  /** The request's principal when absent. */
  readonly actor?: AuditActor | undefined;
  /** Why it failed. */
  readonly reason?: ErrorCode | undefined;
  /** Key that authenticated or was acted on. */
  readonly keyId?: string | undefined;
  /** `jti` of the token that was issued or ended; that of the request's own token when absent. */
  readonly tokenId?: string | undefined;
  readonly data?: Readonly<Record<string, unknown>> | undefined;
};

/** The part of a request's context that each entry records. */
export type AuditContext = Pick<RequestContext, 'requestId' | 'address' | 'principal'> & {
  readonly tenant: Pick<Tenant, 'id'>;
  /** Who acts when no token says so. */
  readonly actor?: AuditActor | undefined;
};

/** An entry as it is stored; its id is made before it is sent, so that sending it twice writes it once. `data` is JSON text. */
export type AuditRecord = {
  readonly id: string;
  readonly tenantId: string;
  readonly action: string;
  readonly outcome: AuditEntry['outcome'];
  readonly reason: ErrorCode | null;
  readonly actorKind: AuditActor['kind'];
  readonly actorId: string | null;
  readonly targetType: string | null;
  readonly targetId: string | null;
  readonly keyId: string | null;
  readonly tokenId: string | null;
  readonly data: string;
  readonly address: string;
  readonly requestId: string;
};

/** The columns of `records` in the order in which every INSERT into audit_log names them: an array for each column. */
export function auditColumns(records: readonly AuditRecord[]): (string | null)[][] {
  return [
    records.map(({ id }) => id),
    records.map(({ tenantId }) => tenantId),
    records.map(({ action }) => action),
    records.map(({ outcome }) => outcome),
    records.map(({ reason }) => reason),
    records.map(({ actorKind }) => actorKind),
    records.map(({ actorId }) => actorId),
    records.map(({ targetType }) => targetType),
    records.map(({ targetId }) => targetId),
    records.map(({ keyId }) => keyId),
    records.map(({ tokenId }) => tokenId),
    records.map(({ data }) => data),
    records.map(({ address }) => address),
    records.map(({ requestId }) => requestId),
  ];
}

/** A line of the audit log as it is read. */
export type AuditLogRecord = Omit<AuditRecord, 'tenantId' | 'reason' | 'actorKind' | 'data'> & {
  readonly occurredAt: Date;
  readonly reason: string | null;
  readonly actorKind: string;
  readonly data: Readonly<Record<string, unknown>>;
};

/** What a reading of the log may ask for; each compares exactly. `since` is inclusive, `until` is not. */
export type AuditFilters = {
  readonly action?: string | undefined;
  readonly outcome?: AuditEntry['outcome'] | undefined;
  readonly actorKind?: AuditActor['kind'] | undefined;
  readonly actorId?: string | undefined;
  readonly targetType?: string | undefined;
  readonly targetId?: string | undefined;
  readonly keyId?: string | undefined;
  readonly tokenId?: string | undefined;
  readonly requestId?: string | undefined;
  readonly address?: string | undefined;
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
};

/** Fixes an entry: what the request says is added. @param id UUIDv7; entries of one request are ordered by it */
export function prepareEntry(context: AuditContext, entry: AuditEntry, id: string): AuditRecord {
  const actor = actorOf(context, entry);
  return {
    id,
    tenantId: context.tenant.id,
    action: entry.action,
    outcome: entry.outcome,
    reason: entry.reason ?? null,
    actorKind: actor.kind,
    actorId: actor.id ?? null,
    targetType: entry.target?.type ?? null,
    targetId: entry.target?.id ?? null,
    keyId: entry.keyId ?? null,
    tokenId: entry.tokenId ?? context.principal?.tokenId ?? null,
    data: JSON.stringify(entry.data ?? {}),
    address: context.address,
    requestId: context.requestId,
  };
}

/** The actor of this request: the entry's own actor, else the context's, else the principal, else an anonymous one. */
function actorOf(context: AuditContext, entry: AuditEntry): AuditActor {
  const actor = entry.actor ?? context.actor;
  if (actor !== undefined) return actor;
  const { principal } = context;
  if (principal === undefined) return { kind: 'anonymous' };
  return { kind: principal.kind, id: principal.agentId ?? principal.subject };
}

/** The context of a command that an operator runs on the machine itself: no principal, no client address. */
export function operatorContext(
  tenant: Tenant,
  requestId: string,
  transaction?: Transaction,
): RequestContext & { readonly actor: AuditActor } {
  return { requestId, tenant, address: 'local', transaction, actor: { kind: 'operator' } };
}

/** The context of what the service does by itself: no request, no principal, no client address. */
export function serviceContext(tenant: Pick<Tenant, 'id'>, requestId: string): AuditContext {
  return { requestId, tenant, address: 'local', actor: { kind: 'service' } };
}

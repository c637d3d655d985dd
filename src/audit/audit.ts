// An entry of the audit log. It has no secret, no token and no signature.
import type { RequestContext, Tenant } from '../platform/context.ts';
import type { Transaction } from '../platform/database/transaction.ts';
import type { ErrorCode } from '../platform/errors/catalogue.ts';

export const ACTOR_KINDS = ['application', 'agent', 'operator', 'service', 'anonymous'] as const;

/**
 * The actor. `application` and `agent` have their id, `operator` is the command line, `anonymous` sent no credential.
 */
export type AuditActor = {
  readonly kind: (typeof ACTOR_KINDS)[number];
  readonly id?: string | undefined;
};

export type AuditEntry = {
  /** The action, dotted, done or refused: `agent.created`, `auth.verify`. */
  readonly action: string;
  readonly outcome: 'success' | 'failure';
  /** The entity that the action changed or would have changed: `{ type: 'agent', id: '…' }`. */
  readonly target?: { readonly type: string; readonly id: string } | undefined;
  /** The actor; the request's principal when absent. */
  readonly actor?: AuditActor | undefined;
  /** The reason of a failure. */
  readonly reason?: ErrorCode | undefined;
  /** The key that authenticated, or that the action changed. */
  readonly keyId?: string | undefined;
  /** `jti` of the token that was issued or ended; of the request's token when absent. */
  readonly tokenId?: string | undefined;
  readonly data?: Readonly<Record<string, unknown>> | undefined;
};

/** The part of a request's context that each entry records. */
export type AuditContext = Pick<RequestContext, 'requestId' | 'address' | 'principal'> & {
  readonly tenant: Pick<Tenant, 'id'>;
  /** The actor when there is no token. */
  readonly actor?: AuditActor | undefined;
};

/**
 * An entry as it is stored. Its id is made before it is sent, so that sending it twice stores it once. `data` is JSON
 * text.
 */
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

/** A row of the audit log as it is read. */
export type AuditLogRecord = Omit<AuditRecord, 'tenantId' | 'reason' | 'actorKind' | 'data'> & {
  readonly occurredAt: Date;
  readonly reason: string | null;
  readonly actorKind: string;
  readonly data: Readonly<Record<string, unknown>>;
};

/** Filters for reading the log; each compares exactly. `since` is inclusive, `until` is exclusive. */
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

/** Completes an entry with the data of the request. @param id UUIDv7; it orders the entries of one request */
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

/** The context of a command that an operator runs on the host itself: no principal, no client address. */
export function operatorContext(
  tenant: Tenant,
  requestId: string,
  transaction?: Transaction,
): RequestContext & { readonly actor: AuditActor } {
  return { requestId, tenant, address: 'local', transaction, actor: { kind: 'operator' } };
}

/** The context of work that no request caused: no principal, no client address. */
export function serviceContext(tenant: Pick<Tenant, 'id'>, requestId: string): AuditContext {
  return { requestId, tenant, address: 'local', actor: { kind: 'service' } };
}

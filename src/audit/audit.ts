// Types of the audit log, and the functions that complete an entry. Entries contain no secret, token or signature.
import { columnsOf, isAmong } from '../platform/columns.ts';
import type { RequestContext, Tenant } from '../platform/context.ts';
import type { Transaction } from '../platform/database/transaction.ts';
import type { ErrorCode } from '../platform/errors/catalogue.ts';
import type { AuditLogRow } from './audit.model.ts';

/** What a text begins with that is sealed with the key of the user whom the entry is about: `data.subject_id`. */
export const SEALED_MARK = 'sealed:';

export const ACTOR_KINDS = ['application', 'agent', 'operator', 'service', 'anonymous'] as const;

/** `application` and `agent` have an id, `operator` used the command line, `anonymous` sent no credential. */
export type AuditActor = {
  readonly kind: (typeof ACTOR_KINDS)[number];
  readonly id?: string | undefined;
};

/** What an operator requested of a workflow. `by` is the identity that Temporal was given; its sender chooses it. */
export type OperatorRequest = { readonly by?: string | undefined; readonly reason?: string | undefined };

export type AuditEntry = {
  /** Dotted name of the action, whether it was done or refused: `agent.created`, `auth.verify`. */
  readonly action: string;
  readonly outcome: 'success' | 'failure';
  /** The entity that the action changed, or would have changed: `{ type: 'agent', id: '…' }`. */
  readonly target?: { readonly type: string; readonly id: string } | undefined;
  /** When absent, the actor is the principal of the request. */
  readonly actor?: AuditActor | undefined;
  readonly reason?: ErrorCode | undefined;
  /** The key that authenticated, or the key that the action changed. */
  readonly keyId?: string | undefined;
  /** `jti` of the token that was issued or ended. When absent, it is the `jti` of the request's token. */
  readonly tokenId?: string | undefined;
  readonly data?: Readonly<Record<string, unknown>> | undefined;
};

/** The entry of an action that was done. @param target the entity that it changed */
export function succeeded(
  action: string,
  target: NonNullable<AuditEntry['target']>,
  data: AuditEntry['data'] = undefined,
): AuditEntry {
  return { action, outcome: 'success', target, data };
}

export type AuditContext = Pick<RequestContext, 'requestId' | 'address' | 'principal'> & {
  readonly tenant: Pick<Tenant, 'id' | 'fansOut'>;
  /** The actor of a request without a token. */
  readonly actor?: AuditActor | undefined;
};

/** A stored entry. The id is created before the insert, so a repeated insert stores one row. `data` is JSON. */
export type AuditRecord = Pick<
  AuditLogRow,
  'id' | 'tenantId' | 'action' | 'outcome' | 'actorId' | 'targetType' | 'targetId' | 'keyId' | 'tokenId'
> & {
  readonly reason: ErrorCode | null;
  readonly actorKind: AuditActor['kind'];
  readonly data: string;
  readonly address: string;
  readonly requestId: string;
};

/** The parameters of `insertEntries`. */
export const ENTRY_COLUMNS = columnsOf<AuditRecord>({
  uuid: ['id', 'tenantId', 'keyId'],
  text: [
    'action',
    'outcome',
    'reason',
    'actorKind',
    'actorId',
    'targetType',
    'targetId',
    'tokenId',
    'address',
    'requestId',
  ],
  jsonb: ['data'],
});

/**
 * Text that inserts entries.
 * @param options.first number of the first parameter
 * @param options.only inserts an entry only when the column `name`, a parameter behind the others, is in the rows `of`
 * @param options.repeated skips entries that are stored already
 */
export function insertEntries({
  first = 1,
  only,
  repeated = true,
}: {
  first?: number;
  only?: { readonly name: string; readonly type: string; readonly of: string };
  repeated?: boolean;
}): string {
  const { names, from } = ENTRY_COLUMNS;
  const hashed = names.replace(/\baddress\b/, 'audit_address(address, salt)');
  return `
INSERT INTO audit_log (${names}, client_address, address_salt)
SELECT ${hashed}, address, salt
FROM ${from('entry', first, only && { [only.name]: only.type })}, LATERAL (SELECT gen_random_uuid() AS salt WHERE entry.id IS NOT NULL) AS salts
${only === undefined ? '' : `WHERE ${isAmong(only.name, only.of)}`} ${repeated ? 'ON CONFLICT DO NOTHING' : ''}`;
}

/** An entry as it is read. `address`: that of the client; null after it was removed. */
export type AuditLogRecord = Pick<AuditLogRow, 'occurredAt' | Exclude<keyof AuditRecord, 'tenantId'>>;

/** Filters for reading the log, all compared exactly. `since` is inclusive, `until` is exclusive. */
export type AuditFilters = {
  readonly [Field in Exclude<keyof AuditRecord, 'id' | 'tenantId' | 'reason' | 'data'>]?:
    | AuditRecord[Field]
    | undefined;
} & {
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
  /** `false`: without sign-ins that succeeded and the tokens that they issued. */
  readonly tokens?: 'true' | 'false' | undefined;
};

/** Completes an entry with the data of the request. @param id UUIDv7, which also orders the entries of one request */
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

function actorOf(context: AuditContext, entry: AuditEntry): AuditActor {
  const actor = entry.actor ?? context.actor;
  if (actor !== undefined) return actor;
  const { principal } = context;
  if (principal === undefined) return { kind: 'anonymous' };
  return { kind: principal.kind, id: principal.agentId ?? principal.subject };
}

/**
 * Creates the context for a command that an operator runs on the host, or for what one requested of a workflow. It has
 * no principal and no client address.
 */
export function operatorContext(
  tenant: Tenant,
  requestId: string,
  { transaction, by }: Pick<OperatorRequest, 'by'> & { readonly transaction?: Transaction } = {},
): RequestContext & { readonly actor: AuditActor } {
  return { requestId, tenant, address: 'local', transaction, actor: { kind: 'operator', id: by } };
}

/** Creates the context for work that no request caused. It has no principal and no client address. */
export function serviceContext(tenant: Pick<Tenant, 'id'>, requestId: string): AuditContext {
  return { requestId, tenant, address: 'local', actor: { kind: 'service' } };
}

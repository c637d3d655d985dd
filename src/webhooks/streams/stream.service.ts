// Creates, changes and deletes streams, for the client that created them. A stream is a subscription whose deliveries
// are security event tokens, so the engine of deliveries serves it: a paused stream is an endpoint that is closed.

import type { IssuerKeyService } from '../../authentication/issuer/issuer-key.service.ts';
import type { RecordService } from '../../events/record.service.ts';
import type { AgentService } from '../../identity/agents/agent.service.ts';
import type { RequestContext } from '../../platform/context.ts';
import { newSigningSecret } from '../../platform/crypto/opaque-secret.node.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import type { Network } from '../../platform/egress/address-rules.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { bindUseCases } from '../../platform/use-cases.ts';
import type { DeliveryService } from '../deliveries/delivery.service.ts';
import type { EndpointService } from '../endpoints/endpoint.service.ts';
import type { HostHoldService } from '../endpoints/host-hold.service.ts';
import type { SubscriptionSealing } from '../subscriptions/subscription-sealing.service.ts';
import { EVENTS_SUPPORTED, eventsDelivered, typesOf, VERIFICATION } from './security-event.ts';
import type { StreamChange } from './stream.store.ts';
import * as store from './stream.store.ts';
import {
  agentOfSubject,
  checkSupplied,
  decideDelivery,
  METHOD_URIS,
  type StreamInput,
  type StreamName,
  type StreamRow,
  type StreamStatus,
  statusOf,
} from './stream.ts';

/** The members of a configuration as receivers read them (SSF §8.1.1). */
export type StreamConfiguration = ReturnType<typeof configurationOf>;

export type StreamState = { stream_id: string; status: StreamStatus; reason?: string };

type Verb = 'created' | 'updated' | 'activated' | 'deactivated' | 'deleted';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Of one client. Each event is a delivery to each. */
const MOST_STREAMS = 100;

/** The header of deliveries, shown masked. */
const MASKED = '***';

export type StreamNeeds = {
  database: Pick<Database, 'transaction' | 'query'>;
  endpoints: Pick<EndpointService, 'create' | 'setActive' | 'endHold' | 'remove'>;
  hostHolds: Pick<HostHoldService, 'follow'>;
  sealing: Pick<SubscriptionSealing, 'sealSecret' | 'sealHeaders' | 'openHeaders'>;
  deliveries: Pick<DeliveryService, 'cancelUnfinished'>;
  records: Pick<RecordService, 'write'>;
  agents: Pick<AgentService, 'exists'>;
  eventKeys: Pick<IssuerKeyService, 'ensureKey'>;
  admittedNetworks: readonly Network[];
};

/**
 * The streams of a receiver. Source: OpenID Shared Signals Framework 1.0, §8.
 * @param eventKeys creates the key that signs the tenant's security event tokens
 * @param admittedNetworks networks, besides public addresses, in which receivers may be
 */
export function createStreamService(needs: StreamNeeds) {
  return {
    ...bindUseCases(needs, { create, list, replace, remove, setStatus, setSubject, verify }),
    exists: async (context: RequestContext, id: string): Promise<boolean> =>
      (await store.find(context.transaction ?? needs.database, nameOf(context, id))) !== undefined,
    /** @throws ServiceError `not_found` for a stream of another receiver */
    get: async (context: RequestContext, id: string): Promise<StreamConfiguration> =>
      configurationOf(context, await find(needs, context, id)),
    /**
     * Changes what the input names. Deliveries that wait go to the new receiver. Emits `webhook.endpoint.updated`.
     * @param sent the members of the request, with those that the service supplies
     * @throws ServiceError `not_found`, `invalid_request`
     */
    update: (context: RequestContext, id: string, input: StreamInput, sent: object) =>
      change(needs, context, id, { ...sent }, (row) => changeOf(needs, row, input)),
    /** @throws ServiceError `not_found` */
    status: async (context: RequestContext, id: string): Promise<StreamState> =>
      stateOf(id, statusOf(await find(needs, context, id))),
  };
}

export type StreamService = ReturnType<typeof createStreamService>;

/**
 * Creates a stream for the calling client, whose id is its audience. Emits `webhook.endpoint.created`.
 * @throws ServiceError `invalid_request` for a URL that a receiver may not have, `conflict` for one stream too many
 */
function create(
  needs: StreamNeeds,
  context: RequestContext,
  input: StreamInput,
): Promise<StreamConfiguration> {
  const { headers, ...place } = decideDelivery(input.delivery, needs.admittedNetworks);
  const eventsRequested = input.events_requested ?? null;
  return needs.database.transaction(context, async (unit) => {
    const id = newId();
    const name = nameOf(context, id);
    if ((await store.list(unit, name)).length >= MOST_STREAMS)
      throw new ServiceError('conflict', { detail: `A client has at most ${MOST_STREAMS} streams.` });
    await needs.eventKeys.ensureKey(unit, context);
    await store.insert(unit, {
      ...name,
      ...place,
      audience: name.receiver,
      secretSealed: needs.sealing.sealSecret(id, newSigningSecret()),
      headersSealed: needs.sealing.sealHeaders(id, headers),
      eventTypes: typesOf(eventsDelivered(eventsRequested)),
      eventsRequested,
      description: input.description ?? null,
    });
    const endpoint = { subscriptionId: id, tenantId: name.tenantId, active: place.method === 'push' };
    await needs.endpoints.create(unit, { ...endpoint, rate: null });
    if (place.method === 'push') await needs.hostHolds.follow(unit, id, { host: place.host });
    await record(needs, unit, context, 'created', { id, host: place.host, eventsRequested });
    const row = await store.find(unit, name);
    if (row === undefined) throw unknownStream();
    return configurationOf(context, row);
  });
}

async function list({ database }: StreamNeeds, context: RequestContext): Promise<StreamConfiguration[]> {
  const { tenantId, receiver } = nameOf(context, '');
  const rows = await store.list(context.transaction ?? database, { tenantId, receiver });
  return rows.map((row) => configurationOf(context, row));
}

/** Changes a stream so that what the input does not name is as in a new stream. As `update`. */
function replace(needs: StreamNeeds, context: RequestContext, id: string, input: StreamInput, sent: object) {
  return change(needs, context, id, { ...sent }, (row) =>
    changeOf(needs, { ...row, eventsRequested: null, description: null }, input),
  );
}

/**
 * Deletes a stream and cancels what it still holds. Emits `webhook.endpoint.deleted`.
 * @throws ServiceError `not_found`
 */
function remove(needs: StreamNeeds, context: RequestContext, id: string): Promise<void> {
  return needs.database.transaction(context, async (unit) => {
    const row = await lock(unit, context, id);
    await store.markDeleted(unit, id);
    await needs.endpoints.remove(unit, id);
    await needs.deliveries.cancelUnfinished(unit, id);
    await record(needs, unit, context, 'deleted', row);
  });
}

/**
 * Sets the status. A paused stream holds its events, and sends them once it is enabled. A disabled one gets none,
 * and what it held is canceled. Emits `webhook.endpoint.activated` or `deactivated`.
 * @throws ServiceError `not_found`
 */
function setStatus(
  needs: StreamNeeds,
  context: RequestContext,
  id: string,
  { status, reason = null }: { status: StreamStatus; reason?: string | null | undefined },
): Promise<StreamState> {
  return needs.database.transaction(context, async (unit) => {
    const before = await lock(unit, context, id);
    const { status: shown } = statusOf(before);
    await apply(
      needs,
      unit,
      { ...before, status: shown },
      { ...changeOf(needs, before, {}), status, reason },
    );
    if (status === 'disabled') while (await needs.deliveries.cancelUnfinished(unit, id));
    const verb = status === 'enabled' ? 'activated' : 'deactivated';
    if (status !== shown) await record(needs, unit, context, verb, before, { fields: ['status'] });
    return stateOf(id, { status, reason });
  });
}

/**
 * Decides whether the stream gets events about an agent; at first it gets those about all. A subject that is no
 * agent of the tenant is ignored in silence, so that answers do not tell which agents there are (SSF §9.1).
 * @throws ServiceError `not_found` for an unknown stream
 */
function setSubject(
  { database, agents, records }: StreamNeeds,
  context: RequestContext,
  id: string,
  { subject, isExcluded }: { subject: Readonly<Record<string, unknown>>; isExcluded: boolean },
): Promise<void> {
  return database.transaction(context, async (unit) => {
    await lock(unit, context, id);
    const agentId = agentOfSubject(subject, context.tenant.issuerUrl);
    const isKnown =
      agentId !== undefined &&
      UUID.test(agentId) &&
      (await agents.exists({ ...context, transaction: unit }, agentId));
    if (!isKnown) return;
    await store.exclude(unit, { id, agentId, isExcluded });
    const action = isExcluded ? 'webhook.stream.subject_removed' : 'webhook.stream.subject_added';
    const target = { type: 'subscription', id };
    await records.write(unit, context, {
      audit: [{ action, outcome: 'success', target, data: { agent_id: agentId } }],
    });
  });
}

/**
 * Sends a verification event to the stream alone, behind the events that it holds.
 * @throws ServiceError `not_found`; `subscription_inactive` for a disabled stream, which may get no event
 */
function verify(
  { database, records }: StreamNeeds,
  context: RequestContext,
  id: string,
  state: string | undefined,
): Promise<void> {
  return database.transaction(context, async (unit) => {
    const { status } = await lock(unit, context, id);
    if (status === 'disabled')
      throw new ServiceError('subscription_inactive', { detail: 'The stream is disabled.' });
    const data = { subscription_id: id, ...(state === undefined ? {} : { state }) };
    await records.write(unit, context, {
      events: [{ type: VERIFICATION, data, onlySubscription: id, test: true }],
    });
  });
}

async function lock(unit: Transaction, context: RequestContext, id: string): Promise<StreamRow> {
  const row = await store.lock(unit, nameOf(context, id));
  if (row === undefined) throw unknownStream();
  return row;
}

async function find({ database }: StreamNeeds, context: RequestContext, id: string): Promise<StreamRow> {
  const row = await store.find(context.transaction ?? database, nameOf(context, id));
  if (row === undefined) throw unknownStream();
  return row;
}

async function record(
  { records }: StreamNeeds,
  unit: Transaction,
  context: RequestContext,
  verb: Verb,
  { id, host, eventsRequested }: Pick<StreamRow, 'id' | 'host' | 'eventsRequested'>,
  more: { fields?: string[] } = {},
): Promise<void> {
  const type = `webhook.endpoint.${verb}`;
  const target = { type: 'subscription', id };
  const eventTypes = typesOf(eventsDelivered(eventsRequested));
  await records.write(unit, context, {
    audit: [{ action: type, outcome: 'success', target, data: { host, ...more } }],
    events: [
      {
        type,
        data: { subscription_id: id, host, event_types: eventTypes, ...more },
        exceptSubscription: id,
      },
    ],
  });
}

/** What a stream becomes by an input whose missing members keep what they are. */
function changeOf(
  { sealing, admittedNetworks }: StreamNeeds,
  row: StreamRow,
  input: StreamInput,
): StreamChange {
  const stored = sealing.openHeaders(row.id, row.headersSealed);
  const delivery =
    input.delivery === undefined
      ? { method: row.method, url: row.url, host: row.host, headers: stored }
      : decideDelivery(input.delivery, admittedNetworks, { url: row.url, headers: stored });
  const { headers, ...place } = delivery;
  const eventsRequested = input.events_requested ?? row.eventsRequested;
  return {
    ...place,
    headersSealed: sealing.sealHeaders(row.id, headers),
    eventsRequested,
    eventTypes: typesOf(eventsDelivered(eventsRequested)),
    description: input.description ?? row.description,
    status: row.status,
    reason: row.reason,
  };
}

/** Writes a change with what follows for the endpoint. */
async function apply(
  { hostHolds, endpoints }: StreamNeeds,
  unit: Transaction,
  before: StreamRow,
  to: StreamChange,
): Promise<void> {
  await store.change(unit, before.id, to);
  // Locks the host's name before the endpoint, in the same order as an operator's hold.
  if (to.host !== before.host)
    await hostHolds.follow(unit, before.id, { host: to.host, before: before.host });
  if (to.method !== before.method || to.status !== before.status)
    await endpoints.setActive(unit, before.id, to.method === 'push' && to.status === 'enabled');
  if (to.url !== before.url) await endpoints.endHold(unit, before.id);
}

function change(
  needs: StreamNeeds,
  context: RequestContext,
  id: string,
  sent: Readonly<Record<string, unknown>>,
  decide: (row: StreamRow) => StreamChange,
): Promise<StreamConfiguration> {
  return needs.database.transaction(context, async (unit) => {
    const before = await lock(unit, context, id);
    checkSupplied(sent, configurationOf(context, before));
    const to = decide(before);
    await apply(needs, unit, before, to);
    await record(needs, unit, context, 'updated', { ...to, id }, { fields: Object.keys(sent) });
    return configurationOf(context, { ...before, ...to });
  });
}

/** The stream as only its own receiver can name it. */
export function nameOf({ tenant, principal }: RequestContext, id: string): StreamName {
  return { tenantId: tenant.id, receiver: principal?.clientId ?? '', id };
}

export function unknownStream(): ServiceError {
  return new ServiceError('not_found', { detail: 'There is no stream with this id.' });
}

function stateOf(
  id: string,
  { status, reason }: { status: StreamStatus; reason: string | null },
): StreamState {
  return { stream_id: id, status, ...(reason === null ? {} : { reason }) };
}

function configurationOf(
  { tenant }: RequestContext,
  row: Pick<
    StreamRow,
    'id' | 'method' | 'audience' | 'url' | 'headersSealed' | 'eventsRequested' | 'description'
  >,
) {
  const polled = `${tenant.baseUrl}/api/v1/ssf/streams/${row.id}/poll`;
  return {
    stream_id: row.id,
    iss: tenant.issuerUrl,
    aud: row.audience,
    events_supported: [...EVENTS_SUPPORTED],
    ...(row.eventsRequested === null ? {} : { events_requested: [...row.eventsRequested] }),
    events_delivered: eventsDelivered(row.eventsRequested),
    delivery: {
      method: METHOD_URIS[row.method],
      endpoint_url: row.method === 'poll' ? polled : row.url,
      ...(row.headersSealed === null ? {} : { authorization_header: MASKED }),
    },
    ...(row.description === null ? {} : { description: row.description }),
  };
}

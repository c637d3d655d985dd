// Makes what the workflows need in Temporal: the namespace with its retention, and the search attributes. It must never remove or
// shorten anything that is there.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, isGrpcServiceError } from '@temporalio/client';
import proto, { type temporal } from '@temporalio/proto';
import type { NativeConnection } from '@temporalio/worker';
import { SEARCH_ATTRIBUTES } from './names.ts';

type AnyConnection = Connection | NativeConnection;

/** gRPC status codes. */
const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;

/** Closed workflows are kept as long as deliveries are. */
const RETENTION_SECONDS = 30 * 24 * 60 * 60;

/** `degraded`: the attributes cannot be had here; workflows start without them, and searches by them find nothing. */
type SearchAttributeState = 'ok' | 'degraded';

/**
 * Makes the namespace and its search attributes where they are missing, and waits until the server accepts them.
 * @param options.patience milliseconds to wait for the server to know what was made
 * @returns whether workflows may be started with the search attributes
 * @throws when Temporal does not answer, or the namespace can neither be found nor made
 */
export async function ensureNamespace(
  connection: AnyConnection,
  { namespace, patience = 30_000 }: { namespace: string; patience?: number },
): Promise<SearchAttributeState> {
  const deadline = Date.now() + patience;
  await ensureExists(connection, namespace, deadline);
  for (;;) {
    try {
      await addSearchAttributes(connection, namespace);
    } catch (error) {
      // A namespace made a moment ago is not known everywhere yet; a hosted server lets only its own tools register attributes.
      if (!isGrpcServiceError(error)) throw error;
    }
    if (await knowsSearchAttributes(connection, namespace)) return 'ok';
    if (Date.now() > deadline) return 'degraded';
    await sleep(250);
  }
}

/**
 * What the namespace is like; nothing is made.
 * @returns days for which closed workflows are kept, null where there is no such namespace; whether workflows can be searched for
 */
export async function readNamespace(
  connection: AnyConnection,
  { namespace }: { namespace: string },
): Promise<{ retentionDays: number | null; attributes: boolean }> {
  const found = await describe(connection, namespace);
  if (found === undefined) return { retentionDays: null, attributes: false };
  const seconds = Number(found.config?.workflowExecutionRetentionTtl?.seconds ?? RETENTION_SECONDS);
  return { retentionDays: seconds / 86_400, attributes: await knowsSearchAttributes(connection, namespace) };
}

/** @returns whether the server takes workflows with the service's search attributes now */
export async function knowsSearchAttributes(connection: AnyConnection, namespace: string): Promise<boolean> {
  // A query is checked against the same cache as a start.
  const query = Object.values(SEARCH_ATTRIBUTES)
    .map(({ name, type }) => (type === 'INT' ? `${name} = 0` : `${name} = 'none'`))
    .join(' AND ');
  try {
    await connection.withDeadline(Date.now() + 5_000, () =>
      connection.workflowService.countWorkflowExecutions({ namespace, query }),
    );
    return true;
  } catch (error) {
    if (isGrpcServiceError(error)) return false;
    throw error;
  }
}

async function ensureExists(connection: AnyConnection, namespace: string, deadline: number): Promise<void> {
  const found = await describe(connection, namespace);
  if (found !== undefined) return ensureRetention(connection, namespace, found);
  try {
    await connection.workflowService.registerNamespace({
      namespace,
      description: 'Countersign: deliveries, rotations and expiries',
      workflowExecutionRetentionPeriod: { seconds: RETENTION_SECONDS } as never,
    });
  } catch (error) {
    if (!(isGrpcServiceError(error) && error.code === ALREADY_EXISTS)) throw error;
  }
  while ((await describe(connection, namespace)) === undefined) {
    if (Date.now() > deadline) throw new Error(`Temporal does not know the namespace ${namespace}`);
    await sleep(250);
  }
}

async function describe(connection: AnyConnection, namespace: string) {
  try {
    return await connection.withDeadline(Date.now() + 5_000, () =>
      connection.workflowService.describeNamespace({ namespace }),
    );
  } catch (error) {
    if (isGrpcServiceError(error) && error.code === NOT_FOUND) return undefined;
    throw error;
  }
}

async function ensureRetention(
  connection: AnyConnection,
  namespace: string,
  found: temporal.api.workflowservice.v1.IDescribeNamespaceResponse,
): Promise<void> {
  const kept = Number(found.config?.workflowExecutionRetentionTtl?.seconds ?? RETENTION_SECONDS);
  if (kept >= RETENTION_SECONDS) return;
  await connection.workflowService.updateNamespace({
    namespace,
    config: { workflowExecutionRetentionTtl: { seconds: RETENTION_SECONDS } as never },
  });
}

async function addSearchAttributes(connection: AnyConnection, namespace: string): Promise<void> {
  const { IndexedValueType } = proto.temporal.api.enums.v1;
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  const missing = Object.values(SEARCH_ATTRIBUTES).filter(({ name }) => !(name in (customAttributes ?? {})));
  if (missing.length === 0) return;
  await connection.operatorService.addSearchAttributes({
    namespace,
    searchAttributes: Object.fromEntries(
      missing.map(({ name, type }) => [name, IndexedValueType[`INDEXED_VALUE_TYPE_${type}`]]),
    ),
  });
}

// Creates the Temporal namespace, its retention and its search attributes. It never removes them or shortens the
// retention.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, isGrpcServiceError } from '@temporalio/client';
import proto, { type temporal } from '@temporalio/proto';
import type { NativeConnection } from '@temporalio/worker';
import { SEARCH_ATTRIBUTES } from './names.ts';

type AnyConnection = Connection | NativeConnection;

const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;

/** Closed workflows are kept as long as deliveries. */
const RETENTION_SECONDS = 30 * 24 * 60 * 60;

/** Milliseconds within which the server has to know the new namespace and attributes. */
const PATIENCE = 30_000;

/** `degraded`: workflows start without the attributes, and a search by them finds nothing. */
type SearchAttributeState = 'ok' | 'degraded';

/**
 * Creates the namespace and its search attributes if they are missing, and waits until the server accepts them.
 * @returns `degraded` when workflows must start without the search attributes
 * @throws when Temporal does not answer, or the namespace is missing and cannot be created
 */
export async function ensureNamespace(
  connection: AnyConnection,
  { namespace }: { namespace: string },
): Promise<SearchAttributeState> {
  const deadline = Date.now() + PATIENCE;
  await ensureExists(connection, namespace, deadline);
  for (;;) {
    try {
      await addSearchAttributes(connection, namespace);
    } catch (error) {
      // The server's parts learn of a new namespace after a delay. A hosted server refuses this call, because only its
      // own tools register attributes.
      if (!isGrpcServiceError(error)) throw error;
    }
    if (await knowsSearchAttributes(connection, namespace)) return 'ok';
    if (Date.now() > deadline) return 'degraded';
    await sleep(250);
  }
}

/**
 * Reads the settings of the namespace; creates nothing.
 * @returns days for which closed workflows are kept (null: the namespace does not exist), and whether the search
 *   attributes exist
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

/** @returns true when the server accepts workflows with the search attributes now */
export async function knowsSearchAttributes(connection: AnyConnection, namespace: string): Promise<boolean> {
  // The server validates a query with the same cache as the start of a workflow.
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
  while (!(await isDescribed(connection, namespace))) {
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

/** False also when a busy server has not answered in time. */
async function isDescribed(connection: AnyConnection, namespace: string): Promise<boolean> {
  try {
    return (await describe(connection, namespace)) !== undefined;
  } catch (error) {
    if (isGrpcServiceError(error)) return false;
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

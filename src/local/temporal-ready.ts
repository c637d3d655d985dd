// Waits until a Temporal server can take our workflows: it answers, has the namespace, and knows the search attributes.
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import type { SearchAttributeType } from '@temporalio/common';
import proto from '@temporalio/proto';

/** Custom search attributes, as `defineSearchAttributeKey` makes them. */
export type SearchAttributes = readonly { readonly name: string; readonly type: SearchAttributeType }[];

const { IndexedValueType } = proto.temporal.api.enums.v1;

/** Each type as the server and as its command line name it. */
export const SEARCH_ATTRIBUTE_TYPES = {
  TEXT: { indexed: IndexedValueType.INDEXED_VALUE_TYPE_TEXT, flag: 'Text' },
  KEYWORD: { indexed: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD, flag: 'Keyword' },
  INT: { indexed: IndexedValueType.INDEXED_VALUE_TYPE_INT, flag: 'Int' },
  DOUBLE: { indexed: IndexedValueType.INDEXED_VALUE_TYPE_DOUBLE, flag: 'Double' },
  BOOL: { indexed: IndexedValueType.INDEXED_VALUE_TYPE_BOOL, flag: 'Bool' },
  DATETIME: { indexed: IndexedValueType.INDEXED_VALUE_TYPE_DATETIME, flag: 'Datetime' },
  KEYWORD_LIST: { indexed: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST, flag: 'KeywordList' },
} as const satisfies Record<SearchAttributeType, unknown>;

/**
 * @param options.address host:port of a server without TLS
 * @param options.searchAttributes registered when the namespace does not have them
 * @param options.aborted resolves, with the reason, when there is no use in waiting any longer
 * @param options.limit milliseconds to wait at most
 * @throws Error with the last answer when the time is over
 */
export async function awaitTemporal(options: {
  address: string;
  namespace: string;
  searchAttributes: SearchAttributes;
  aborted?: Promise<Error> | undefined;
  limit?: number | undefined;
}): Promise<void> {
  const { address, limit = 60_000 } = options;
  const connection = Connection.lazy({ address, connectTimeout: 2_000 });
  let stopped: Error | undefined;
  options.aborted?.then(
    (reason) => {
      stopped = reason;
    },
    () => undefined,
  );
  let last: unknown;
  try {
    for (const deadline = Date.now() + limit; Date.now() < deadline; await sleep(50)) {
      if (stopped !== undefined) throw stopped;
      try {
        if (await connection.withDeadline(Date.now() + 2_000, () => isReady(connection, options))) return;
      } catch (error) {
        last = error;
      }
    }
  } finally {
    await connection.close();
  }
  throw new Error(`Temporal at ${address} did not become ready`, { cause: last });
}

async function isReady(
  connection: Connection,
  { namespace, searchAttributes }: { namespace: string; searchAttributes: SearchAttributes },
): Promise<boolean> {
  await connection.ensureConnected();
  await connection.workflowService.describeNamespace({ namespace });
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  const missing = searchAttributes.filter(({ name }) => customAttributes?.[name] === undefined);
  if (missing.length === 0) return true;
  await connection.operatorService.addSearchAttributes({
    namespace,
    searchAttributes: Object.fromEntries(
      missing.map(({ name, type }) => [name, SEARCH_ATTRIBUTE_TYPES[type].indexed]),
    ),
  });
  return false;
}

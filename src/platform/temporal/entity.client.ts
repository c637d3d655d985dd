// Starts the workflows of entities, and tells them to look. It must never put anything into Temporal but ids and public names.
import type { Client } from '@temporalio/client';
import { createIndexing } from './indexing.ts';
import {
  ENTITY_CHANGED,
  type EntityInput,
  type EntityWorkflow,
  entityWorkflowId,
  SEARCH_ATTRIBUTES,
} from './names.ts';

/** Milliseconds that one call to Temporal may take. */
const CALL_TIMEOUT = 10_000;

/** `summary`: what an operator sees of the workflow at once; never encrypted. */
export type EntityRequest = {
  readonly tenantId: string;
  readonly workflow: EntityWorkflow;
  readonly entityId: string;
  readonly summary?: string | undefined;
  readonly agentId?: string | undefined;
  readonly subscriptionId?: string | undefined;
  /** Of the receiver: a URL's path may carry a secret. */
  readonly host?: string | undefined;
  /** For activities that wait for others. */
  readonly slowQueue?: string | undefined;
};

/**
 * Starts the workflow of an entity, or tells the one that runs.
 * @param taskQueue of workflows
 */
export function createEntityStarter({
  client,
  taskQueue,
}: {
  client: Pick<Client, 'workflow' | 'withDeadline'>;
  taskQueue: string;
}) {
  const indexing = createIndexing();

  const tell = async (request: EntityRequest, indexed: boolean): Promise<void> => {
    const { tenantId, workflow, entityId, summary, agentId, subscriptionId, host, slowQueue } = request;
    const input: EntityInput = {
      tenantId,
      id: entityId,
      indexed,
      ...(summary === undefined ? {} : { summary }),
      ...(slowQueue === undefined ? {} : { slowQueue }),
    };
    const attributes = [
      { key: SEARCH_ATTRIBUTES.tenantId, value: tenantId },
      ...attribute(SEARCH_ATTRIBUTES.agentId, agentId),
      ...attribute(SEARCH_ATTRIBUTES.subscriptionId, subscriptionId),
      ...attribute(SEARCH_ATTRIBUTES.endpointHost, host),
    ];
    await client.withDeadline(Date.now() + CALL_TIMEOUT, () =>
      client.workflow.signalWithStart(workflow, {
        workflowId: entityWorkflowId(workflow, entityId),
        taskQueue,
        args: [input],
        signal: ENTITY_CHANGED,
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        workflowIdConflictPolicy: 'USE_EXISTING',
        priority: { fairnessKey: tenantId },
        ...(summary === undefined ? {} : { staticSummary: summary }),
        ...(indexed ? { typedSearchAttributes: attributes } : {}),
      }),
    );
  };

  return {
    /**
     * Tells the entity's workflow that something has changed, and starts it where none runs.
     * @throws when Temporal does not answer: it may have happened, and is safe to repeat
     */
    tell: (request: EntityRequest): Promise<void> => indexing.attempt((indexed) => tell(request, indexed)),

    /** Whether workflows start with their search attributes at present. */
    isIndexed: indexing.isOn,
  };
}

export type EntityStarter = ReturnType<typeof createEntityStarter>;

function attribute<Key>(key: Key, value: string | undefined): { key: Key; value: string }[] {
  return value === undefined ? [] : [{ key, value }];
}

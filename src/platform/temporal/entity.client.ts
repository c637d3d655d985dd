// Starts and signals entity workflows. Temporal receives only ids and public names.
// docs/decisions/0037-what-workflows-say.md
import type { Client } from '@temporalio/client';
import { createIndexing } from './indexing.ts';
import { ENTITY_CHANGED, type EntityInput, entityWorkflowId, SEARCH_ATTRIBUTES } from './names.ts';
import {
  detailsOfStart,
  type EntityPlace,
  namesOf,
  type Presenter,
  pathOfEntity,
  type TenantNames,
} from './static-details.ts';

const CALL_TIMEOUT = 10_000;

/** `summary`: shown to operators with the workflow; never encrypted. */
export type EntityRequest = EntityPlace & {
  readonly tenantId: string;
  readonly summary?: string | undefined;
  /** Only the host of the receiver's URL, because the path may contain a secret. */
  readonly host?: string | undefined;
  readonly slowQueue?: string | undefined;
};

/**
 * Starts or signals the workflow of an entity.
 * @param options.taskQueue of workflows
 * @param options.presenter names the tenant and the pages to operators; absent: neither is shown
 */
export function createEntityStarter({
  client,
  taskQueue,
  presenter,
}: {
  client: Pick<Client, 'workflow' | 'withDeadline'>;
  taskQueue: string;
  presenter?: Presenter | undefined;
}) {
  const indexing = createIndexing();

  const tell = async (
    request: EntityRequest,
    tenant: TenantNames | undefined,
    indexed: boolean,
  ): Promise<void> => {
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
      ...attribute(SEARCH_ATTRIBUTES.tenantSlug, tenant?.slug),
      ...attribute(SEARCH_ATTRIBUTES.agentId, agentId),
      ...attribute(SEARCH_ATTRIBUTES.subscriptionId, subscriptionId),
      ...attribute(SEARCH_ATTRIBUTES.endpointHost, host),
    ];
    const staticDetails = detailsOfStart(presenter, { workflow, tenant, path: pathOfEntity(request) });
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
        ...(staticDetails === undefined ? {} : { staticDetails }),
        ...(indexed ? { typedSearchAttributes: attributes } : {}),
      }),
    );
  };

  return {
    /**
     * Signals the workflow of the entity that the entity has changed, and starts the workflow if none runs.
     * @throws when Temporal does not answer; the signal may have been sent, and can be repeated
     */
    tell: async (request: EntityRequest): Promise<void> => {
      const tenant = await namesOf(presenter, request.tenantId);
      await indexing.attempt((indexed) => tell(request, tenant, indexed));
    },

    /** False while workflows start without search attributes. */
    isIndexed: indexing.isOn,
  };
}

export type EntityStarter = ReturnType<typeof createEntityStarter>;

function attribute<Key>(key: Key, value: string | undefined): { key: Key; value: string }[] {
  return value === undefined ? [] : [{ key, value }];
}

// Compares the entities that should have a workflow with the running workflows, in both directions. A missing workflow
// whose command still waits in `workflow_commands` is no finding.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../platform/database/database.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import type { ExpectedPage, ExpectedWorkflow } from '../../platform/temporal/expected-workflows.ts';
import { ENTITY_CHANGED, type EntityWorkflow, entityWorkflowId } from '../../platform/temporal/names.ts';
import type { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import type { WorkflowInspector } from '../../platform/temporal/workflow-inspection.client.ts';
import type { Check, Reporter } from './finding.ts';
import { compareRunning, inGroups, mendedWhen, PACE, type Pace } from './mend-waiting.service.ts';

/** Lists one page of the entities of a type whose workflow should run now, by ascending id. */
export type ListExpected = (queryable: Queryable, page: ExpectedPage) => Promise<readonly ExpectedWorkflow[]>;

/**
 * @param options.listExpected lists the entities of the workflow's type
 * @param options.pace shorter in tests
 */
export function createEntityWorkflowCheck({
  workflow,
  listExpected,
  database,
  inspector,
  commands,
  pace = PACE,
}: {
  workflow: EntityWorkflow;
  listExpected: ListExpected;
  database: Pick<Database, 'query' | 'transaction'>;
  inspector: Pick<WorkflowInspector, 'listRunning' | 'isRunning' | 'signal'>;
  commands: Pick<WorkflowCommandService, 'add' | 'isWaiting'>;
  pace?: Pace | undefined;
}): Check {
  async function* listRows(): AsyncGenerator<readonly ExpectedWorkflow[]> {
    for (let after: string | undefined; ; ) {
      const page = await listExpected(database, { after, limit: pace.page });
      yield page;
      after = page.at(-1)?.entityId;
      if (page.length < pace.page) return;
    }
  }

  /** @returns those of the ids whose entity should have a workflow */
  async function filterExpected(ids: ReadonlySet<string>): Promise<Set<string>> {
    const expected = new Set<string>();
    for await (const page of listRows())
      for (const { entityId } of page) {
        const id = entityWorkflowId(workflow, entityId);
        if (ids.has(id)) expected.add(id);
      }
    return expected;
  }

  async function examine({ found, looked }: Reporter): Promise<void> {
    const { missing, orphans } = await compareRunning(inspector.listRunning(workflow), listRows(), {
      idOf: ({ entityId }) => entityWorkflowId(workflow, entityId),
      looked,
    });
    if (missing.size === 0 && orphans.size === 0) return;
    // The pause lets workflows that were starting or ending settle. After it each id is checked again.
    await sleep(pace.settle);
    const expected = await filterExpected(new Set([...missing.keys(), ...orphans]));
    await inGroups([...missing], pace.atOnce, async ([id, { tenantId, entityId }]) => {
      if (!expected.has(id)) return;
      if (await inspector.isRunning(id)) return;
      if (await commands.isWaiting(database, { tenantId, workflow, entityId })) return;
      const finding = { code: 'workflow_missing', subject: id, tenantId };
      const mend = async () => {
        await database.transaction({}, (unit) => commands.add(unit, [{ tenantId, workflow, entityId }]));
        return mendedWhen(() => inspector.isRunning(id), pace);
      };
      await found({ ...finding, detail: 'its row should have a workflow, and none runs' }, mend);
    });
    await inGroups([...orphans], pace.atOnce, async (id) => {
      if (expected.has(id) || !(await inspector.isRunning(id))) return;
      const mend = async () => {
        await inspector.signal(id, ENTITY_CHANGED);
        return mendedWhen(async () => !(await inspector.isRunning(id)), pace);
      };
      const detail = 'it runs, and no row should have it';
      await found({ code: 'workflow_without_row', subject: id, detail }, mend);
    });
  }

  return { name: workflow, title: `${workflow} workflows and the rows that should have one`, examine };
}

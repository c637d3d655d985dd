// `countersign worker-version …`: sets which build of the workers receives work. With --json, stdout has only the
// answer.
import type { Command } from 'commander';
import type { ListedVersions, WorkerVersions } from '../../platform/temporal/worker-version.ts';
import { readIntent, withName } from './operator.commands.ts';
import type { OperatorActService } from './operator-act.service.ts';

type Open = () => Promise<{
  versions: WorkerVersions;
  openActs: () => Pick<OperatorActService, 'list' | 'recordAlone'>;
  close: () => Promise<void>;
}>;
type Options = { json?: true; unversioned?: true; as?: string; reason?: string };

/** Fills in `worker-version list` and `worker-version current`. @param print writes one line to stdout */
export function registerWorkerVersionCommands(
  workerVersion: Command,
  { open, print }: { open: Open; print: (line: string) => void },
): void {
  const within = async (
    options: Options,
    work: (services: Awaited<ReturnType<Open>>) => Promise<unknown>,
  ): Promise<void> => {
    const services = await open();
    try {
      await work(services);
      const listed = await services.versions.list();
      if (options.json) print(JSON.stringify(present(listed)));
      else for (const line of describe(listed)) print(line);
    } finally {
      await services.close();
    }
  };

  workerVersion
    .command('list')
    .description('the builds that Temporal knows')
    .option('--json', 'print the answer as JSON only')
    .action((options: Options) => within(options, async () => undefined));

  withName(
    workerVersion
      .command('current')
      .description(
        'give the work to a build whose workers run: new workflows at once, running ones from their next task on',
      ),
  )
    .argument('[build-id]', 'WORKER_BUILD_ID of those workers')
    .option('--unversioned', 'give it to workers without WORKER_BUILD_ID')
    .option('--json', 'print the answer as JSON only')
    .action((buildId: string | undefined, options: Options, command: Command) => {
      if ((buildId === undefined) !== (options.unversioned === true))
        command.error('error: name a build id, or --unversioned');
      const reason = `countersign worker-version current ${buildId ?? '--unversioned'}`;
      const intent = readIntent({ reason, ...options });
      return within(options, async ({ versions, openActs }) => {
        const acts = openActs();
        // This read fails when the database is away, so that no change is made that could not be recorded.
        await acts.list(1);
        const { current } = await versions.list();
        await versions.makeCurrent(buildId ?? '');
        if (current === (buildId ?? null)) return;
        await acts.recordAlone(intent, {
          action: 'worker_version.current',
          target: { type: 'service', id: buildId ?? 'unversioned' },
          data: { previous: current },
        });
      });
    });
}

function present({ current, versions }: ListedVersions) {
  return { current, versions: versions.map(({ buildId, status }) => ({ build_id: buildId, status })) };
}

function describe({ current, versions }: ListedVersions): string[] {
  const lines = versions.map(({ buildId, status }) => `${buildId}  ${status}`);
  return current === null ? [...lines, 'workers without WORKER_BUILD_ID get the work'] : lines;
}

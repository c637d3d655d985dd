// Gives the work to a build of the workers by the line of docs/operations/upgrade.md, run by Temporal's own program.
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { inject } from 'vitest';
import { obtainTemporal } from '../../src/app/local/temporal-program.ts';
import { WORKER_DEPLOYMENT } from '../../src/platform/temporal/names.ts';
import { readCommands } from '../operations/operators/incident-page.ts';
import { eventually } from './delivery-engine.ts';

const run = promisify(execFile);

/** The words of the page's line after `t`. */
function wordsOf(namespace: string, deploymentName: string, buildId: string): string[] {
  const found = readCommands('docs/operations/upgrade.md').find(({ line }) =>
    line.startsWith('t worker deployment set-current-version'),
  );
  if (found === undefined) throw new Error('the page does not set the current version');
  const words = found.line.split(/\s+/).slice(1);
  words[words.indexOf('--deployment-name') + 1] = deploymentName;
  words[words.indexOf('--build-id') + 1] = buildId;
  return [...words, '--address', inject('temporalAddress'), '--namespace', namespace];
}

/** Repeats the line until Temporal has seen workers of the build, which takes it a moment. */
export async function makeCurrent(
  namespace: string,
  buildId: string,
  deploymentName = WORKER_DEPLOYMENT,
): Promise<void> {
  const temporal = await obtainTemporal({
    binFolder: resolve('.data', 'bin'),
    path: process.env.PATH ?? '',
    say: () => undefined,
  });
  const words = wordsOf(namespace, deploymentName, buildId);
  let refusal = '';
  const isTaken = () =>
    run(temporal, words).then(
      () => true,
      (error: { stderr?: string }) => {
        refusal = error.stderr ?? String(error);
        return false;
      },
    );
  await eventually(isTaken, () => `workers of the build ${buildId}: ${refusal}`);
}

// Runs the shell blocks of pages as one script, as a person does who copies them into a terminal.
import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { HANG } from '../setup/patience.ts';
import { readBlocks } from './pages.ts';
import { ELSEWHERE } from './walked-pages.ts';

const versionOf = (program: string, option = '--version') => spawnSync(program, [option]).stdout?.toString();
/** Whether there is what the pages say that they need. */
export const canRun =
  [versionOf('bash'), versionOf('curl')].every(Boolean) &&
  /^OpenSSL [3-9]/.test(versionOf('openssl', 'version') ?? '');

/** The blocks of the pages that are run here, as one script. */
export const scriptOf = (...pages: string[]) =>
  pages
    .flatMap((page) =>
      readBlocks(page).filter(
        (text) => !ELSEWHERE.some(([ofPage, words]) => ofPage === page && text.includes(words)),
      ),
    )
    .join('\n');

/** Runs a script; rejects with all that it said at the first command that fails. @returns its lines */
export async function runScript(
  script: string,
  { cwd, env }: { cwd: string; env: Readonly<Record<string, string>> },
): Promise<string[]> {
  const variables = { PATH: process.env.PATH ?? '', HOME: cwd, TMPDIR: cwd, ...env };
  const options = { cwd, timeout: HANG, env: variables };
  const running = promisify(execFile)('bash', ['-ec', `set -o pipefail\n${script}`], options);
  const { stdout } = await running.catch((error: Error & { stdout: string }) => {
    throw new Error(`${error.message}\n${error.stdout}`);
  });
  return stdout.split('\n').filter(Boolean);
}

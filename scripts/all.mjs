// `.ci/run`: everything that must hold before a change goes in. It ends early when the check or a pure case is red.
import './require-node.mjs';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const { prepare, run } = await import('./prepare.mjs');
const { conclude } = await import('./failed-cases.mjs');
const { check, look, lookTwice, readCases } = await import('./look.mjs');
const { readCost } = await import('./cost.mjs');

await prepare({ build: false });
const counts = [];
// A group of its own, which ends with this process however early that is.
const early = spawn(process.execPath, ['scripts/early.mjs'], { detached: true, stdio: 'inherit' });
const ready = new Promise((resolve) => early.once('exit', resolve));
process.on('exit', () => endGroup(early));
counts.push(...(await Promise.all([check(), look(['--project=pure'])])));
endIfRed();
// Where it failed, so does what needs it, and says why.
await ready;
const others = ['database', 'temporal', 'smoke', 'processes', 'costly'];
counts.push(await lookTwice(others.map((name) => `--project=${name}`)));
counts.push(await guard());
end();

async function guard() {
  const { isGuarded } = await import('../bench/guarded.mjs');
  if (isGuarded()) {
    process.stdout.write(
      'The guard has passed with these paths of a token and a delivery: it is not run again.\n',
    );
    return { passed: 0, failed: [] };
  }
  const folder = mkdtempSync(join(tmpdir(), 'countersign-guard-'));
  const file = join(folder, 'cases.json');
  const code = await run(process.execPath, ['bench/bench.mjs', 'guard', '--json', file]);
  const cases = readCases(file, 'npm run bench -- guard', code);
  rmSync(folder, { recursive: true, force: true });
  return cases;
}

function endIfRed() {
  if (counts.some(({ failed }) => failed.length > 0)) end();
}

/** @param {import('node:child_process').ChildProcess} child that leads it */
function endGroup({ pid, exitCode, signalCode }) {
  if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, 'SIGKILL');
}

/** The last line of the log, and the exit code. */
function end() {
  const cost = readCost();
  if (cost !== undefined) process.stdout.write(`\n${cost.line}\n`);
  const failed = [...counts.flatMap((one) => one.failed), ...(cost?.failed ?? [])];
  const passed = counts.reduce((sum, one) => sum + one.passed, 0);
  process.stdout.write(`\n${conclude(passed, failed)}`);
  process.exit(failed.length === 0 ? 0 : 1);
}

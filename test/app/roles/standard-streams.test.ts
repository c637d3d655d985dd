// Files of commands where nothing is writable: `-` stands for stdout or stdin, as under compose and Kubernetes.
import { spawn } from 'node:child_process';
import { text as readAll, buffer as readBytes } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { afterAll, expect, it } from 'vitest';
import { prepareRuns } from './role-runs.ts';

const runs = await prepareRuns();
afterAll(() => runs.close());

/** Runs `countersign` where it may write no file. @returns its exit code and what it wrote */
async function run(args: readonly string[], input = '') {
  const child = spawn(process.execPath, [runs.main, ...args], {
    env: { ...runs.base, DATA_DIR: '/dev/null/unused' },
    cwd: '/proc',
    stdio: 'pipe',
  });
  const [stdout, stderr] = [readBytes(child.stdout), readAll(child.stderr)];
  child.stdin.on('error', () => undefined).end(input);
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, stdout: await stdout, stderr: await stderr };
}
const EXPORT = ['operator', 'tenant', 'export', 'demo', '--reason', 'the contract has ended', '--out', '-'];

it.each([
  [[], /^- has [1-9]\d* rows of tenant demo\.\n$/],
  [['--json'], /^{"file":"-","rows":{.*"tenants":1/],
])('the archive goes to stdout, and nothing else does: %j', async (more, answer) => {
  const { code, stdout, stderr } = await run([...EXPORT, ...more]);
  expect([code, stderr]).toEqual([0, expect.stringMatching(answer)]);
  const lines = gunzipSync(stdout).toString().trimEnd().split('\n');
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ countersign_export: 1, slug: 'demo' });
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ end: true });
});

it('a reader of the archive that ends first ends the export', async () => {
  const child = spawn(process.execPath, [runs.main, ...EXPORT], { env: runs.base, stdio: 'pipe' });
  child.stdout.destroy();
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  expect(code).toBe(1);
});

it.each([
  [
    ['audit', 'verify', '--anchors', '-'],
    '-: is neither the JSON of a page of checkpoints nor a note',
    'nothing',
  ],
  [
    ['restore-check', '--checkpoint', '-'],
    '-: holds a statement that is none of a checkpoint',
    '{"data":[{"statement":"nothing"}]}',
  ],
])('%j reads stdin', async (args, refusal, input) => {
  const { code, stderr } = await run(args, input);
  expect([code, stderr]).toEqual([expect.any(Number), expect.stringContaining(refusal)]);
  expect(code).not.toBe(0);
});

it('audit verify takes a page of checkpoints from stdin', async () => {
  const { code, stdout } = await run(['audit', 'verify', '--anchors', '-', '--json'], '{"data":[]}');
  expect(code).toBe(0);
  expect(JSON.parse(stdout.toString())).toMatchObject({ intact: true });
});

// Gives the histories of clients to Porcupine, a linearizability checker in Go, which judges them against the models in
// linear/main.go.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const PROGRAM = fileURLToPath(new URL('./linear', import.meta.url));
const run = promisify(execFile);

/**
 * @param histories operations: kind, key, call, end (null: open), input, output
 * @returns objects and operations by kind, and which were not linearizable; or why the checker was `skipped`
 */
export async function checkHistories(histories) {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-linear-'));
  try {
    const program = join(folder, 'linear');
    try {
      await run('go', ['build', '-o', program, '.'], {
        cwd: PROGRAM,
        env: { ...process.env, GOTOOLCHAIN: 'local' },
      });
    } catch (error) {
      return {
        skipped: error.code === 'ENOENT' ? 'there is no Go' : String(error.stderr ?? error).slice(0, 300),
      };
    }
    const file = join(folder, 'histories.json');
    const begin = Math.min(...histories.map(({ call }) => call));
    const inMicroseconds = (at) => (at === null ? null : Math.round((at - begin) * 1_000));
    const operations = histories.map((one) => ({
      ...one,
      call: inMicroseconds(one.call),
      end: inMicroseconds(one.end),
    }));
    await writeFile(file, JSON.stringify(operations));
    const { stdout } = await run(program, [file], { maxBuffer: 64 << 20 });
    return JSON.parse(stdout);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

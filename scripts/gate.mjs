// `npm run gate`: before a push, the check beside the pure cases, then the cases of the rooms that the change touches.
// It leaves processes and all other rooms to `.ci/run`.
import './require-node.mjs';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

const { prepare, root } = await import('./prepare.mjs');
const { conclude } = await import('./failed-cases.mjs');
const { check, look, lookTwice } = await import('./look.mjs');

await prepare({ build: false });
const rooms = roomsOf(changedFiles());
const counts = await Promise.all([check(), look(['--project=pure'])]);
const isRed = () => counts.some(({ failed }) => failed.length > 0);
if (!isRed() && rooms.length > 0) {
  process.stdout.write(`The change touches ${rooms.join(', ')}.\n`);
  counts.push(await lookTwice(['--project=database', '--project=temporal', '--passWithNoTests', ...rooms]));
}
const passed = counts.reduce((sum, one) => sum + one.passed, 0);
process.stdout.write(
  `\n${conclude(
    passed,
    counts.flatMap(({ failed }) => failed),
  )}`,
);
process.exitCode = isRed() ? 1 : 0;

/** What is not yet at the branch that this one follows, committed or not. */
function changedFiles() {
  const base = git('merge-base', 'HEAD', '@{upstream}') ?? git('merge-base', 'HEAD', 'origin/main') ?? 'HEAD';
  const changed = [
    git('diff', '--name-only', base.trim()),
    git('ls-files', '--others', '--exclude-standard'),
  ];
  return changed.flatMap((lines) => (lines ?? '').split('\n')).filter(Boolean);
}

function git(...args) {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout : undefined;
}

/** A test file that changed, and the folder of tests with the path of a source that changed. */
function roomsOf(files) {
  const rooms = files.flatMap((file) => {
    if (/^test\/.*\.test\.ts$/.test(file)) return existsSync(join(root, file)) ? [file] : [];
    if (/^(?:workflows|activities)\//.test(file)) return ['test/workflows/', 'test/replay/'];
    const room = dirname(
      file.replace(/^(?:src|test)\//, 'test/').replace(/^packages\/([^/]+)\/.*/, 'test/packages/$1/x'),
    );
    return room.startsWith('test/') && existsSync(join(root, room)) ? [`${room}/`] : [];
  });
  return [...new Set(rooms)].sort();
}

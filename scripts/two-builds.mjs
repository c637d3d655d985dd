// `node scripts/two-builds.mjs`: releases the last commit in two folders of different names, and compares the bytes.
import './require-node.mjs';
import { spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { verifyRelease } from './verify-release.mjs';

const { prepare, root } = await import('./prepare.mjs');
await prepare({ build: false });
const folder = mkdtempSync(join(tmpdir(), 'two-builds-'));
try {
  const pair = generateKeyPairSync('ed25519');
  const key = join(folder, 'key.pem');
  writeFileSync(key, pair.privateKey.export({ format: 'pem', type: 'pkcs8' }), { mode: 0o600 });
  const releases = ['one', join('another', 'place')].map((name) => release(join(folder, name), key));
  const names = [...new Set(releases.flatMap((out) => readdirSync(out)))].sort();
  const differing = names.filter((name) => {
    const [one, other] = releases.map((out) => readFileSync(join(out, name)));
    return !one.equals(other);
  });
  const { faults } = verifyRelease(
    releases[0],
    pair.publicKey.export({ format: 'pem', type: 'spki' }).toString(),
  );
  for (const fault of [...differing.map((name) => `${name}: differs`), ...faults])
    process.stderr.write(`${fault}\n`);
  if (differing.length + faults.length > 0) process.exit(1);
  process.stdout.write(`${names.length} files are the same in two builds: ${names.join(', ')}.\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Clones, with the installed packages of this clone, and releases. @returns the folder of the release */
function release(clone, key) {
  const out = `${clone}-release`;
  mkdirSync(clone, { recursive: true });
  run('git', ['clone', '--quiet', '--no-local', root, clone], root);
  run('cp', ['-a', join(root, 'node_modules'), clone], root);
  run(process.execPath, ['scripts/release.mjs', '--key', key, '--out', out], clone);
  return out;
}

function run(command, args, cwd) {
  const { status } = spawnSync(command, args, { cwd, stdio: 'inherit' });
  if (status !== 0) throw new Error(`${command} ${args[0]} ended with ${status}`);
}

// `npm run release -- --key <file> [--builder <uri>] [--out <folder>] [--image <tag>]`: builds the committed sources,
// packs them and the deployment's files, and writes an SBOM and a signed statement of what was built of what, with the image where one is asked
// for. The same commit gives the same bytes, in any folder, but for the image.
import './require-node.mjs';
import { spawn, spawnSync } from 'node:child_process';
import { createPrivateKey } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { packDeployment, signRelease } from './sign-release.mjs';
import { readImage, sha256 } from './verify-release.mjs';

const { prepare, root } = await import('./prepare.mjs');
const { values } = parseArgs({
  options: {
    key: { type: 'string' },
    builder: { type: 'string', default: 'urn:countersign:builder:by-hand' },
    out: { type: 'string', default: 'release' },
    image: { type: 'string' },
  },
});
if (values.key === undefined)
  refuse('--key <file>: the private key of the release (Ed25519, PEM) is needed.');
const key = createPrivateKey(readFileSync(values.key));
if (key.asymmetricKeyType !== 'ed25519') refuse('--key: must be an Ed25519 key.');
if (output('git', 'status', '--porcelain') !== '')
  refuse('A release is of a commit: commit your changes first.');

const out = resolve(values.out);
const commit = output('git', 'rev-parse', 'HEAD');
await prepare({ build: false });
const { build } = await import('./compile.mjs');
// With no file of the build before.
rmSync(join(root, 'dist'), { recursive: true, force: true });
await build();
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
for (const which of [[], ['--workspaces']]) output('npm', 'pack', '--pack-destination', out, ...which);
packDeployment(root, out, JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version);
writeFileSync(join(out, 'countersign.cdx.json'), makeSbom());
signRelease(out, key, {
  commit,
  lockfile: readFileSync(join(root, 'package-lock.json')),
  builder: values.builder,
  tools: { node: process.version, npm: output('npm', '--version'), arch: process.arch },
  image: values.image === undefined ? undefined : await makeImage(values.image),
});
process.stdout.write(`${readdirSync(out).length} files in ${out}, of ${commit}.\n`);

/** What the service is made of, as npm knows it; without the time, the number and the folder of this run. */
function makeSbom() {
  const format = ['--sbom-format', 'cyclonedx', '--sbom-type', 'application'];
  const sbom = JSON.parse(output('npm', 'sbom', ...format, '--omit', 'dev', '--package-lock-only'));
  sbom.metadata.timestamp = output('git', 'log', '-1', '--format=%cI');
  sbom.metadata.component.name = 'countersign';
  // A UUID of version 8 (RFC 9562): its bits are of our own choice, here of the commit.
  const bits = sha256(Buffer.from(commit));
  const parts = [bits.slice(0, 8), bits.slice(8, 12), `8${bits.slice(13, 16)}`, `a${bits.slice(17, 20)}`];
  sbom.serialNumber = `urn:uuid:${[...parts, bits.slice(20, 32)].join('-')}`;
  return `${JSON.stringify(sbom, null, 2)}\n`;
}

/** Builds the image of a clone, in which nothing is that the commit has not. */
async function makeImage(name) {
  const clone = mkdtempSync(join(tmpdir(), 'countersign-image-'));
  // A command that fails ends this process.
  process.once('exit', () => rmSync(clone, { recursive: true, force: true }));
  output('git', 'clone', '--quiet', '--shared', root, clone);
  const version = /:([^:/]+)$/.exec(name)?.[1] ?? 'latest';
  const args = [`VERSION=${version}`, `REVISION=${commit}`].flatMap((one) => ['--build-arg', one]);
  output('docker', 'build', '--quiet', ...args, '--tag', name, clone);
  const saved = spawn('docker', ['image', 'save', name], { stdio: ['ignore', 'pipe', 'inherit'] });
  return { name, digest: await readImage(saved.stdout) };
}

function output(command, ...args) {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 2 ** 20,
  });
  if (status !== 0) refuse(`${[command, ...args].join(' ')} failed: ${stderr}`);
  return stdout.trim();
}

function refuse(why) {
  process.stderr.write(`${why}\n`);
  process.exit(2);
}

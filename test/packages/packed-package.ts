// A package as another project gets it: packed by npm, and installed by npm from that file, offline, into a folder
// outside this repository.
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

const ROOT = resolve('.');

type Packed = {
  readonly name: string;
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
};

/** Builds if the build is stale, and packs folders of this repository. @returns what npm says of each tarball */
export async function packPackages(sources: readonly string[], folder: string): Promise<Packed[]> {
  const prepare = `import { prepare } from './scripts/prepare.mjs'; await prepare({ build: true });`;
  await run(process.execPath, ['--input-type=module', '--eval', prepare], ROOT);
  const pack = ['pack', ...sources.map((path) => `./${path}`)];
  const output = await npm(ROOT, ...pack, '--ignore-scripts', '--json', '--pack-destination', folder);
  return JSON.parse(output) as Packed[];
}

/**
 * Builds if the build is stale, packs the package `packages/<name>`, and installs it.
 *
 * @param options.packed packages of our node_modules that are packed and installed with it, as npm would fetch them
 * @param options.linked packages of our node_modules that the folder is to have besides, with all that they need
 */
export async function installPackage(
  name: string,
  { packed = [], linked = [] }: { packed?: readonly string[]; linked?: readonly string[] } = {},
) {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-consumer-'));
  const close = () => rm(folder, { recursive: true, force: true });
  try {
    const sources = [join('packages', name), ...packed.map((other) => join('node_modules', other))];
    const tarballs = await packPackages(sources, folder);
    await writeFile(join(folder, 'package.json'), '{"private":true,"type":"module"}');
    const quiet = ['--offline', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    await npm(folder, 'install', ...quiet, ...tarballs.map(({ filename }) => `./${filename}`));
    for (const other of linked) {
      const link = join(folder, 'node_modules', other);
      await mkdir(dirname(link), { recursive: true });
      await symlink(join(ROOT, 'node_modules', other), link);
    }
    const [own] = tarballs;
    if (own === undefined) throw new Error('npm packed nothing');
    return {
      folder,
      tarball: join(folder, own.filename),
      files: own.files.map(({ path }) => path).sort(),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function npm(folder: string, ...args: string[]): Promise<string> {
  const program = process.env.npm_execpath;
  return program?.endsWith('npm-cli.js')
    ? run(process.execPath, [program, ...args], folder)
    : run('npm', args, folder);
}

/** Runs a program to its end. @returns its standard output; rejects with all that it said when it fails */
export function run(
  command: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    let complaints = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      complaints += chunk.toString();
    });
    child.once('error', reject);
    child.once('close', (code) =>
      code === 0
        ? resolve(output)
        : reject(new Error(`${command} ended with ${code}:\n${output}${complaints}`)),
    );
  });
}

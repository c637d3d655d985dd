// The package as another project gets it: packed by npm, unpacked into a folder outside this repository, with only those dependencies
// beside it that are named.
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

const ROOT = resolve('.');

/**
 * Builds if the build is stale, packs, and unpacks.
 *
 * @param dependencies names of packages that the folder is to have besides
 */
export async function unpackPackage(dependencies: readonly string[] = ['@noble/hashes']) {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-consumer-'));
  const close = () => rm(folder, { recursive: true, force: true });
  try {
    const prepare = `import { prepare } from './scripts/prepare.mjs'; await prepare({ build: true });`;
    await run(process.execPath, ['--input-type=module', '--eval', prepare], ROOT);
    const packed = await npm('pack', '--ignore-scripts', '--json', '--pack-destination', folder);
    const [{ filename, files }] = JSON.parse(packed) as [{ filename: string; files: { path: string }[] }];
    const target = join(folder, 'node_modules', 'countersign');
    await mkdir(target, { recursive: true });
    await run('tar', ['-xzf', join(folder, filename), '--strip-components', '1', '-C', target], folder);
    for (const name of dependencies) {
      const link = join(folder, 'node_modules', name);
      await mkdir(dirname(link), { recursive: true });
      await symlink(join(ROOT, 'node_modules', name), link);
    }
    return { folder, files: files.map(({ path }) => path), close };
  } catch (error) {
    await close();
    throw error;
  }
}

function npm(...args: string[]): Promise<string> {
  const program = process.env.npm_execpath;
  return program?.endsWith('npm-cli.js')
    ? run(process.execPath, [program, ...args], ROOT)
    : run('npm', args, ROOT);
}

/** Runs a program to its end. @returns its standard output; rejects with all that it said when it fails */
export function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
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

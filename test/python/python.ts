// Finds a Python that can run the packages of packages/python, and runs programs with it.
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { HANG } from '../setup/patience.ts';

/** The version that is installed where there is none; pyproject.toml takes newer and some older ones. */
const CRYPTOGRAPHY = { cryptography: '48.0.0' };

export const packageOf = (name: string) => resolve('packages', 'python', name);
const PYTHONPATH = ['countersign-receiver', 'countersign-agent']
  .map((name) => join(packageOf(name), 'src'))
  .join(':');

/**
 * A Python 3.9 or newer with modules, by default the dependency of the agent: that of the machine, or a virtual
 * environment in .data.
 * @param versions of the modules that are installed where there are none
 * @returns undefined where there is no Python, or the modules cannot be had
 */
export function findPython(versions: Readonly<Record<string, string>> = CRYPTOGRAPHY): string | undefined {
  const modules = Object.keys(versions);
  const venv = resolve('.data', `python-${modules.join('-')}`);
  const own = join(venv, 'bin', 'python');
  const program = `import ${modules.join(', ')}, sys; sys.exit(sys.version_info < (3, 9))`;
  for (const python of ['python3', ...(existsSync(own) ? [own] : [])])
    if (succeeds(python, '-c', program)) return python;
  const pinned = Object.entries(versions).map(([name, version]) => `${name}==${version}`);
  const isMade =
    succeeds('python3', '-m', 'venv', venv) && succeeds(own, '-m', 'pip', 'install', '-q', ...pinned);
  return isMade ? own : undefined;
}

const succeeds = (command: string, ...words: string[]) =>
  spawnSync(command, words, { timeout: HANG }).status === 0;

/** Runs a program that finds the packages; rejects with what it said when it fails. @returns its standard output */
export async function runPython(
  python: string,
  words: readonly string[],
  { cwd = '.', env = {} }: { cwd?: string; env?: Readonly<Record<string, string>> } = {},
): Promise<{ stdout: string; stderr: string }> {
  const variables = { ...process.env, PYTHONPATH, PYTHONDONTWRITEBYTECODE: '1', ...env };
  return promisify(execFile)(python, words, { cwd, env: variables, timeout: HANG });
}

/** Starts a program that finds the packages, and goes on. */
export function startPython(
  python: string,
  words: readonly string[],
  env: Readonly<Record<string, string>>,
): ChildProcess {
  const variables = { ...process.env, PYTHONPATH, PYTHONDONTWRITEBYTECODE: '1', ...env };
  return spawn(python, words, { env: variables, stdio: ['ignore', 'pipe', 'pipe'] });
}

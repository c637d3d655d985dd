// Judges openapi.json by the usual generator of Python clients: it must make a function of every operation, and mypy must accept all of it.
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const GENERATOR = '0.29.1';
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

export const judge = {
  name: 'openapi-python-client',
  version: GENERATOR,
  needs: ['python3'],

  /** @param {{ say: (line: string) => void, folder: string }} context */
  async run({ say, folder }) {
    const bin = join(folder, 'venv', 'bin');
    const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` };
    const warnings = [];
    say('installing');
    await run('python3', ['-m', 'venv', join(folder, 'venv')]);
    const packages = [`openapi-python-client==${GENERATOR}`, 'mypy==2.4.1'];
    await run(join(bin, 'pip'), ['install', '--quiet', '--disable-pip-version-check', ...packages]);

    const client = join(folder, 'client');
    const { stdout, stderr } = await run(
      join(bin, 'openapi-python-client'),
      ['generate', '--path', 'openapi.json', '--output-path', client],
      { env },
    );
    const missing = `${stdout}${stderr}`.match(/WARNING parsing .*|Unable to parse .*/g) ?? [];
    warnings.push(...missing);

    const { paths } = JSON.parse(readFileSync('openapi.json', 'utf8'));
    const operations = Object.values(paths).flatMap((item) =>
      METHODS.flatMap((method) => (item[method] ? [snakeCase(item[method].operationId)] : [])),
    );
    const made = new Set(
      readdirSync(client, { recursive: true }).map((file) => file.split('/').at(-1)?.replace(/\.py$/, '')),
    );
    const lost = operations.filter((operation) => !made.has(operation));
    warnings.push(...lost.map((operation) => `${operation} was not generated`));

    say(`checking the types of ${operations.length} operations`);
    const typed = await run(join(bin, 'mypy'), ['.'], { cwd: client, env }).then(
      () => true,
      (error) => {
        warnings.push(error.stdout);
        return false;
      },
    );
    const faults = lost.length + missing.length + (typed ? 0 : 1);
    return { passed: operations.length - lost.length + (typed ? 1 : 0), failed: faults, warnings };
  },
};

function snakeCase(name) {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

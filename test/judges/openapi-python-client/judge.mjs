// Judges openapi.json by the usual generator of Python clients: it must make a function of every operation, and mypy
// must accept all of it.
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const GENERATOR = '0.29.1';
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/** Each example must come back from its type as it was. */
const READ_EXAMPLES = `
import json, sys
from countersign_client import models
for name, example in json.load(open(sys.argv[1])):
    try:
        found = getattr(models, name).from_dict(json.loads(json.dumps(example))).to_dict()
        if json.dumps(found, sort_keys=True).replace("+00:00", "Z").replace(".000", "") != json.dumps(example, sort_keys=True).replace(".000", ""):
            print(f"{name}: {found} instead of {example}")
    except Exception as error:
        print(f"{name}: {error!r}")
`;

export const judge = {
  name: 'openapi-python-client',
  version: GENERATOR,
  what: "a client of openapi.json: each operation, types, each event's example",
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

    const { paths, webhooks } = JSON.parse(readFileSync('openapi.json', 'utf8'));
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
    say('reading an example of every event by its generated type');
    const examples = Object.values(webhooks).flatMap(({ post }) =>
      Object.values(post.requestBody.content).map(({ schema, example }) => [
        schema.$ref.split('/').at(-1),
        example,
      ]),
    );
    writeFileSync(join(folder, 'examples.json'), JSON.stringify(examples));
    const unread = await run(join(bin, 'python'), ['-c', READ_EXAMPLES, join(folder, 'examples.json')], {
      cwd: client,
    });
    const refused = unread.stdout.split('\n').filter((line) => line !== '');
    warnings.push(...refused);
    const faults = refused.length + lost.length + missing.length + (typed ? 0 : 1);
    const read = examples.length - refused.length;
    return { passed: read + operations.length - lost.length + (typed ? 1 : 0), failed: faults, warnings };
  },
};

function snakeCase(name) {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

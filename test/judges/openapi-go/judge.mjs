// Judges openapi.json by the usual generator of Go clients: all of it must compile, with a function of every operation,
// and the type of every event must take its example and give it back.
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { judgeByProgram, run } from '../standard-webhooks.mjs';

const GENERATOR = 'v2.8.2';
const RUNTIME = 'v1.8.0';
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

const SETTINGS = `package: main
output: client.go
generate: { models: true, client: true }
output-options: { skip-prune: true }
`;

export const judge = {
  name: 'oapi-codegen, Go',
  version: GENERATOR,
  what: 'a client of openapi.json: all operations compile, each event is read by its type',
  needs: ['go'],

  /** @param {{ say: (line: string) => void, folder: string }} context */
  async run({ say, folder }) {
    const options = { cwd: folder, env: { ...process.env, GOFLAGS: '-mod=mod', GOBIN: folder } };
    const go = (...args) => run('go', args, options);
    say('building the generator');
    await go('install', `github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@${GENERATOR}`);
    writeFileSync(join(folder, 'settings.yaml'), SETTINGS);
    await run(join(folder, 'oapi-codegen'), ['-config', 'settings.yaml', resolve('openapi.json')], options);

    const { paths, webhooks } = JSON.parse(readFileSync('openapi.json', 'utf8'));
    const client = readFileSync(join(folder, 'client.go'), 'utf8');
    const operations = Object.values(paths).flatMap((item) =>
      METHODS.flatMap((method) => (item[method] ? [item[method].operationId] : [])),
    );
    const lost = operations.filter((name) => !client.includes(`func New${upperFirst(name)}Request`));
    const examples = Object.values(webhooks).flatMap(({ post }) =>
      Object.values(post.requestBody.content).map(({ schema, example }) => ({
        name: schema.$ref.split('/').at(-1),
        example,
      })),
    );
    writeFileSync(join(folder, 'examples.json'), JSON.stringify(examples));
    writeFileSync(join(folder, 'types.go'), typesOf(new Set(examples.map(({ name }) => name))));
    copyFileSync(join(import.meta.dirname, 'main.go'), join(folder, 'main.go'));
    say(`compiling ${operations.length} operations`);
    await go('mod', 'init', 'judge');
    await go('get', `github.com/oapi-codegen/runtime@${RUNTIME}`);
    await go('build', '-o', 'judge', '.');
    say(`reading ${examples.length} examples`);
    const read = await judgeByProgram(join(folder, 'judge'), ['examples.json'], options);
    return {
      passed: read.passed + operations.length - lost.length,
      failed: read.failed + lost.length,
      warnings: lost.map((name) => `${name} was not generated`),
    };
  },
};

/** A constructor of each type of an event, by its name. */
function typesOf(names) {
  const entries = [...names].map((name) => `\t"${name}": func() any { return new(${name}) },`);
  return `package main\n\nvar types = map[string]func() any{\n${entries.join('\n')}\n}\n`;
}

function upperFirst(name) {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

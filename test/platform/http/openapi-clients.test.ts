// Holds openapi.json against other people's software: a linter, and a generator whose types must compile and have all
// operations.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { beforeAll, describe, expect, it } from 'vitest';

const run = promisify(execFile);
const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

type Content = Record<string, { schema: { $ref?: string }; example?: unknown }>;
type Operation = {
  operationId: string;
  parameters: { name?: string; in?: string }[];
  requestBody?: { content: Content };
  responses: Record<string, { content?: Content }>;
};

let text: string;
let operations: [path: string, operation: Operation][];
let examples: [component: string, example: unknown][];
let schemas: Record<string, { properties?: Record<string, { enum?: unknown; const?: unknown }> }>;
let names: { schemas: string[]; responses: string[] };
beforeAll(async () => {
  text = await readFile('openapi.json', 'utf8');
  const { paths, components, webhooks } = JSON.parse(text);
  examples = Object.values<{ post: { requestBody: { content: Content } } }>(webhooks).flatMap(({ post }) =>
    Object.values(post.requestBody.content).map(({ schema, example }): [string, unknown] => [
      schema.$ref?.split('/').at(-1) ?? '',
      example,
    ]),
  );
  operations = Object.entries<Partial<Record<string, Operation>>>(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method): [string, Operation][] => (item[method] ? [[path, item[method]]] : [])),
  );
  schemas = components.schemas;
  names = { schemas: Object.keys(components.schemas), responses: Object.keys(components.responses) };
});

describe('the names in openapi.json', () => {
  it('are those of components for every body and every answer in JSON', () => {
    const unnamed = operations.flatMap(([, { operationId, requestBody, responses }]) =>
      [requestBody, ...Object.values(responses)]
        .flatMap((part) => Object.entries(part?.content ?? {}))
        .flatMap(([type, { schema }]) =>
          type !== 'text/event-stream' && schema.$ref === undefined ? [operationId] : [],
        ),
    );
    expect(unnamed).toEqual([]);
    expect(names.schemas).toEqual(
      expect.arrayContaining(['NewAgent', 'AgentPatch', 'NewWebhook', 'NewEvent']),
    );
  });

  it('can be read, and are identifiers in every language', () => {
    for (const name of [...names.schemas, ...names.responses]) {
      expect(name).toMatch(/^[A-Z][A-Za-z0-9]*$/);
      expect(name.length, name).toBeLessThanOrEqual(60);
    }
  });

  it('do not meet when the name of a property is put behind them, as generators name enumerations', () => {
    const owners = new Map<string, string[]>();
    for (const [name, { properties = {} }] of Object.entries(schemas))
      for (const [property, { enum: values, const: value }] of Object.entries(properties)) {
        if (values === undefined && value === undefined) continue;
        const words = property.split('_').map((word) => word.charAt(0).toUpperCase() + word.slice(1));
        const made = `${name}${words.join('')}`;
        owners.set(made, [...(owners.get(made) ?? []), `${name}.${property}`]);
      }
    expect(owners.size).toBeGreaterThan(100);
    const met = [...owners].filter(([made, from]) => from.length > 1 || made in schemas);
    expect(met).toEqual([]);
  });

  it('are one for each thing in a path', () => {
    const called = new Map<string, Set<string>>();
    for (const [path] of operations)
      for (const [, collection, parameter] of path.matchAll(/([^/]+)\/\{(\w+)\}/g))
        if (collection && parameter)
          called.set(collection, (called.get(collection) ?? new Set()).add(parameter));
    for (const [collection, parameters] of called) expect([...parameters], collection).toHaveLength(1);
  });
});

describe('@redocly/openapi-core', () => {
  it('finds no error, and no warning but these', async () => {
    const config = await createConfig({ extends: ['recommended'] });
    const found = await lintFromString({ source: text, absoluteRef: resolve('openapi.json'), config });
    expect(found.filter(({ severity }) => severity === 'error')).toEqual([]);
    // There is no licence that a stranger could have; the written addresses are examples; "rotations" is no UUID, so no
    // address is two; examples of reserved error codes are for the clients of later versions; the authorization
    // endpoint refuses every request.
    expect([...new Set(found.map(({ ruleId }) => ruleId))].sort()).toEqual([
      'info-license',
      'no-ambiguous-paths',
      'no-server-example.com',
      'no-unused-components',
      'operation-2xx-response',
    ]);
  });
});

describe('openapi-typescript', () => {
  it('makes types of every operation and event that compile and take each example, strict and with the check of libraries', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'openapi-types-'));
    try {
      const [types, use] = [join(folder, 'api.d.ts'), join(folder, 'use.ts')];
      const generator = resolve('test/platform/http/generate-types.mjs');
      await run(process.execPath, [generator, resolve('openapi.json'), types]);
      const lines = operations.map(
        ([, { operationId }], index) =>
          `export const o${index} = (o: operations['${operationId}']) => o.responses;`,
      );
      const events = examples.map(
        ([component, example], index) =>
          `export const e${index}: components['schemas']['${component}'] = ${JSON.stringify(example)};`,
      );
      const agent = `export const agent: components['schemas']['NewAgent'] = { name: 'a', metadata: { deep: [{ a: 1 }] } };
// @ts-expect-error a name is text
export const wrong: components['schemas']['NewAgent'] = { name: 1 };`;
      await writeFile(
        use,
        [`import type { components, operations } from './api.d.ts';`, ...lines, ...events, agent].join('\n'),
      );
      const options =
        '--ignoreConfig --noEmit --strict --skipLibCheck false --target es2022 --module nodenext --types'.split(
          ' ',
        );
      const compiler = resolve('node_modules/typescript/bin/tsc');
      const { stdout } = await run(process.execPath, [
        compiler,
        ...options,
        '',
        '--allowImportingTsExtensions',
        types,
        use,
      ]).catch((error: { stdout: string }) => error);
      expect(stdout).toBe('');
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

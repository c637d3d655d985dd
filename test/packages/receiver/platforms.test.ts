// Runs every program of docs/receiving-platforms.md as it stands there, under the real adapter of its platform, in a
// folder that has the packed package. Next.js is the exception: its route handlers take a web Request, which is given.
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { transform } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startLocalSender } from '../../webhooks/deliveries/attempt.ts';
import { installPrograms, startProgram } from './guide-programs.ts';
import { expectSafeReceiver } from './platform-scenario.ts';

const LINKED = [
  ...['express', 'fastify', 'serverless-http', '@google-cloud/functions-framework'],
  ...['@nestjs/common', '@nestjs/core', '@nestjs/platform-express', 'reflect-metadata', 'rxjs'],
];

/** A module of Nest without decorators of TypeScript: another route, and a receiver that is a controller. */
const NEST_MODULE = `
import 'reflect-metadata';
import { Body, Controller, HttpCode, Module, Post, Req, Res } from '@nestjs/common';
import { createExpressReceiver } from '@countersign/receiver';
import { options } from './options.mjs';

const receive = createExpressReceiver(options);
function decorate(controller, path, method, ...parameters) {
  const descriptor = Object.getOwnPropertyDescriptor(controller.prototype, method);
  for (const one of [Post(), HttpCode(200)]) one(controller.prototype, method, descriptor);
  parameters.forEach((one, index) => one(controller.prototype, method, index));
  Controller(path)(controller);
}
class Orders { take(body) { return { took: body }; } }
class Hooks { take(request, response) { return receive(request, response); } }
decorate(Orders, 'orders', 'take', Body());
decorate(Hooks, 'controller/hooks', 'take', Req(), Res());
export class AppModule {}
Module({ controllers: [Orders, Hooks] })(AppModule);
`;

const NEST_CONTROLLER = `
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
const app = await NestFactory.create(AppModule, { rawBody: true });
app.useBodyParser('json', { limit: '1mb' });
await app.listen(process.env.PORT);
`;

/** What Next.js does around a route: the exported method takes a Request, and others are 405. */
const NEXT = `
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { POST } from './route.mjs';
createServer(async (incoming, outgoing) => {
  const { method, headers } = incoming;
  if (method !== 'POST') return outgoing.writeHead(405).end();
  const body = Readable.toWeb(incoming);
  const answer = await POST(new Request('http://r.test/hooks', { method, headers, body, duplex: 'half' }));
  outgoing.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
}).listen(process.env.PORT);
`;

const local = startLocalSender();
let consumer: Awaited<ReturnType<typeof installPrograms>>;
beforeAll(async () => {
  consumer = await installPrograms('docs/receiving-platforms.md', LINKED);
  const { code } = await transform(consumer.programs.get('main.ts') ?? '', { loader: 'ts', format: 'esm' });
  const files = {
    ...{ 'main.mjs': code, 'app.module.js': NEST_MODULE, 'controller.mjs': NEST_CONTROLLER },
    'next.mjs': NEXT,
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(consumer.folder, name), text);
});
afterAll(async () => {
  await local.close();
  await consumer?.close();
});

it('the page has only programs that are run by a test', () => {
  expect([...consumer.programs.keys()].sort()).toEqual([
    ...['fastify.mjs', 'functions.mjs', 'hooks.py', 'lambda.mjs', 'main.ts', 'options.mjs', 'route.mjs'],
    'serverless.mjs',
  ]);
});

const gateway = (file: string, payload: string) => [
  resolve('test/packages/receiver/lambda-gateway.mjs'),
  file,
  payload,
];
const functions = resolve('node_modules/@google-cloud/functions-framework/build/src/main.js');
const FUNCTIONS = [functions, '--target=hooks', '--source=functions.mjs'];

describe('a receiver', () => {
  it.each<[platform: string, program: string | readonly string[], path?: string]>([
    ['AWS Lambda, REST API', gateway('lambda.mjs', '1.0')],
    ['AWS Lambda, REST API with base64', gateway('lambda.mjs', '1.0-base64')],
    ['AWS Lambda, HTTP API', gateway('lambda.mjs', '2.0')],
    ['AWS Lambda, HTTP API with base64', gateway('lambda.mjs', '2.0-base64')],
    ['serverless-http, REST API', gateway('serverless.mjs', '1.0')],
    ['serverless-http, REST API with base64', gateway('serverless.mjs', '1.0-base64')],
    ['serverless-http, HTTP API', gateway('serverless.mjs', '2.0')],
    ['serverless-http, HTTP API with base64', gateway('serverless.mjs', '2.0-base64')],
    ['Google Cloud functions', FUNCTIONS],
    ['NestJS', 'main.mjs'],
    ['a controller of NestJS', 'controller.mjs', '/controller/hooks'],
    ['Fastify', 'fastify.mjs'],
    ['Next.js', 'next.mjs'],
  ])(
    'on %s takes what our sender sends, and ends nothing by a fault of the set-up',
    async (_on, file, path) => {
      const isUp = (status: number) => status === 405 || status === 404;
      const program = await startProgram(consumer.folder, file, {}, isUp);
      try {
        await expectSafeReceiver(program.url.replace('/hooks', path ?? '/hooks'), local.sender);
        expect(program.said().match(/^arrived: /gm)).toHaveLength(4);
      } finally {
        await program.close();
      }
    },
  );
});

it('Nest leaves its other routes their parsed bodies', async () => {
  const program = await startProgram(consumer.folder, 'main.mjs', {}, () => true);
  try {
    const headers = { 'content-type': 'application/json' };
    const orders = program.url.replace('/hooks', '/orders');
    const answer = await fetch(orders, { method: 'POST', headers, body: '{"a":1}' });
    expect([answer.status, await answer.json()]).toEqual([200, { took: { a: 1 } }]);
  } finally {
    await program.close();
  }
});

// What a command loads before it can answer: read from the imports, so that no slow package joins unseen.
import { readFileSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadedBy, packagesOf } from './loaded-modules.ts';

const DYNAMIC = /\bimport\(\s*['"]([^'"]+)['"]\s*\)/g;

const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  token: ['src/app/terminal/token.commands.ts'],
  listen: ['src/app/terminal/listen.commands.ts'],
  trigger: ['src/app/terminal/trigger.commands.ts'],
  'agent list': ['src/app/terminal/resource.commands.ts'],
};
const TENANT_LIST = [
  'src/identity/tenants/tenant.commands.ts',
  'src/app/command-services.ts',
  'src/app/wiring/tenant-list.ts',
];
const STATUS = [
  'src/operations/status/status.commands.ts',
  'src/app/command-services.ts',
  'src/app/wiring/status.ts',
];
const MANAGEMENT = ['src/app/command-services.ts', 'src/app/wiring/commands.ts'];

const API = ['src/app/roles.ts', 'src/app/api.ts'];
const WORKER = ['src/app/roles.ts', 'src/app/worker.ts'];

describe('a role loads', () => {
  // The API opens the models at its start, so that no request waits for them.
  it('no client of Temporal and no log for people for the API', () => {
    const heavy = /^(?:sequelize|pino-pretty|@temporalio\/(?!envconfig))/;
    expect(packagesOf(API).filter((name) => heavy.test(name))).toEqual([]);
  });

  it('no models and no HTTP interface for the worker', () => {
    const heavy = /^(?:sequelize|pino-pretty|koa|@koa\/)/;
    expect(packagesOf(WORKER).filter((name) => heavy.test(name))).toEqual([]);
  });
});

describe('a command loads', () => {
  it('nothing but the parser of the command line for --help', () => {
    expect(packagesOf(['src/main.ts'])).toEqual(['commander']);
  });

  it.each(Object.entries(COMMANDS))('no service for %s', (_, files) => {
    const heavy = /^(?:pg|sequelize|zod|koa|@koa\/|@temporalio\/|jose|undici|pino|@opentelemetry\/)/;
    expect(packagesOf(files).filter((name) => heavy.test(name))).toEqual([]);
  });

  it('one table for tenant list: no models, no log, no metrics, no Temporal, no HTTP, no keys of issuers', () => {
    const heavy = /^(?:sequelize|pino|prom-client|koa|@koa\/|@temporalio\/|jose|undici|@opentelemetry\/)/;
    expect(packagesOf(TENANT_LIST).filter((name) => heavy.test(name))).toEqual([]);
    const rooms = loadedBy(TENANT_LIST).filter((file) => /^src\/(?:webhooks|authentication)\//.test(file));
    // One text, which imports nothing.
    expect(rooms).toEqual(['src/webhooks/intake/fans-out.ts']);
  });

  it('the statements for status: no models, no log, no Temporal, no service of authentication but for its seals', () => {
    const heavy = /^(?:sequelize|pino|koa|@koa\/|@temporalio\/(?!envconfig)|jose|undici|@noble\/curves)/;
    expect(packagesOf(STATUS).filter((name) => heavy.test(name))).toEqual([]);
    const rooms = loadedBy(STATUS).filter((file) =>
      /^src\/(?:events\/|authentication\/.*\.service\.ts)/.test(file),
    );
    expect(rooms).toEqual(['src/authentication/users/user-sealing.service.ts']);
  });

  it('no worker, no client of Temporal and no HTTP server for the commands of management', () => {
    const heavy = /^(?:koa|@koa\/|@temporalio\/(?!common)|jose)/;
    expect(packagesOf(MANAGEMENT).filter((name) => heavy.test(name))).toEqual([]);
  });

  it('by the very imports that this test follows', () => {
    const imported = [...readFileSync('src/app/commands.ts', 'utf8').matchAll(DYNAMIC)].map(
      ([, target = '']) => normalize(join('src/app', target)),
    );
    for (const file of [...Object.values(COMMANDS).flat(), ...TENANT_LIST, ...STATUS, ...MANAGEMENT])
      expect(imported).toContain(file);
  });
});

// Holds docs/fresh-host.md, .env.example and deploy/systemd against docker-compose.yml and the settings. Nothing is
// started.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { MALLOC_SETTINGS, NODE_FLAGS } from '../../src/app/local/role-part.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { temporaryFolder } from '../app/local/temporary-folder.ts';
import { readBlocks } from '../documentation/pages.ts';

const PAGE = 'docs/fresh-host.md';
const text = readFileSync('docker-compose.yml', 'utf8');
const compose = parse(text, { merge: true }) as {
  services: Record<
    string,
    { image?: string; profiles?: string[]; environment?: Record<string, string>; entrypoint?: string[] }
  >;
};
const example = readFileSync('.env.example', 'utf8');

/** The variables of a file: name, value, and whether the line is a default that is commented out. */
const read = (file: string) =>
  [...file.matchAll(/^(# )?([A-Z_]+)=(.*)$/gm)].map(([, hidden, name = '', value = '']) => ({
    ...{ name, value, isDefault: hidden !== undefined },
  }));

describe('.env.example', () => {
  /** What compose asks the environment for, each with its default; undefined where it refuses to start without. */
  const asked = new Map(
    [...text.matchAll(/(?<!\$)\$\{([A-Z_]+):(?:-([^}]*)|\?[^}]*)\}/g)].map(([, name = '', value]) => [
      name,
      value,
    ]),
  );

  it('names what docker-compose.yml decides with, beside the settings that it passes on', () => {
    const passedOn = Object.entries(compose.services.api?.environment ?? {}).flatMap(([name, value]) =>
      value === `\${${name}:-}` ? [name] : [],
    );
    expect(passedOn).toContain('RATE_LIMIT_ADDRESS');
    const names = read(example).map(({ name }) => name);
    expect([...asked.keys()].filter((name) => !names.includes(name) && !passedOn.includes(name))).toEqual([]);
    expect(names.filter((name) => !asked.has(name))).toEqual([]);
  });

  it('has the defaults of docker-compose.yml, commented out, and what has none to be filled in', () => {
    for (const { name, value, isDefault } of read(example)) {
      if (name === 'PUBLIC_URL') continue;
      expect(isDefault, name).toBe(asked.get(name) !== undefined);
      expect(value, name).toBe(asked.get(name) ?? '');
    }
  });

  it('is filled in by the first commands of the page, so that the service would start', () => {
    const [commands = ''] = readBlocks(PAGE);
    const folder = temporaryFolder();
    cpSync('.env.example', join(folder, '.env.example'));
    execFileSync('bash', ['-ec', commands], { cwd: folder });
    const filled = Object.fromEntries(
      read(readFileSync(join(folder, '.env'), 'utf8')).map(({ name, value }) => [name, value]),
    );
    const passwords = ['POSTGRES_PASSWORD', 'DATABASE_ROLE_PASSWORD', 'TEMPORAL_DATABASE_PASSWORD'];
    expect(new Set(passwords.map((name) => filled[name])).size).toBe(3);
    for (const name of passwords) expect(filled[name]).toMatch(/^[0-9a-f]{32}$/);
    const variables = {
      MASTER_KEY: filled.MASTER_KEY,
      AUDIT_KEY: filled.AUDIT_KEY,
      PUBLIC_URL: filled.PUBLIC_URL,
      NODE_ENV: 'production',
    };
    const config = loadConfig(
      { ...variables, DATABASE_URL: 'postgres://host/countersign' },
      { role: 'worker' },
    );
    expect(config.publicUrl).toBe('https://id.example.com');
  });
});

describe('the service tools of docker-compose.yml', () => {
  const { tools } = compose.services;

  it('has the command line of the very server, in its namespace, and starts only when it is asked for', () => {
    expect(tools?.image).toBe(compose.services['temporal-schema']?.image);
    expect(tools?.profiles).toEqual(['tools']);
    expect(tools?.entrypoint).toEqual([]);
    const { TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE } = compose.services.worker?.environment ?? {};
    expect(tools?.environment).toEqual({ TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE });
  });

  it('and api are what the pages run, and no command starts, migrates or recreates what it depends on', () => {
    const named = ['docs', 'docs/operations'].flatMap((folder) =>
      pagesOf(folder).flatMap((page) => [
        ...readFileSync(join(folder, page), 'utf8').matchAll(
          /docker compose (?:--profile tools )?run --rm (--[a-z-]+)? ?(?:-T )?(?:-e \S+ )?(?:--entrypoint \S+ )?([a-z-]+)/g,
        ),
      ]),
    );
    expect(named.length).toBeGreaterThan(25);
    for (const [line, option, service = ''] of named) {
      expect(option, line).toBe('--no-deps');
      expect(compose.services[service], line).toBeDefined();
    }
  });
});

describe('the server before the gateway', () => {
  it('has the four lines of the page', () => {
    expect(readFileSync(PAGE, 'utf8')).toContain(readFileSync('deploy/caddy/Caddyfile', 'utf8'));
  });

  it('asks where the gateway listens', () => {
    const [, address] = /reverse_proxy (\S+)/.exec(readFileSync('deploy/caddy/Caddyfile', 'utf8')) ?? [];
    expect(text).toContain(`"${address}:8080"`);
  });
});

describe('deploy/systemd', () => {
  const units = readdirSync('deploy/systemd');

  it('starts commands that exist, and gives a worker more time to stop than an attempt may take', () => {
    expect(units).toEqual([
      'countersign-api.service',
      'countersign-migrate.service',
      'countersign-worker.service',
    ]);
    for (const unit of units) {
      const [, role] = /^countersign-(\w+)\.service$/.exec(unit) ?? [];
      expect(readFileSync(join('deploy/systemd', unit), 'utf8')).toContain(`dist/src/main.js ${role}\n`);
    }
    for (const role of ['api', 'worker']) {
      const unit = readFileSync(`deploy/systemd/countersign-${role}.service`, 'utf8');
      for (const flag of NODE_FLAGS) expect(unit).toContain(` ${flag} `);
      for (const [name, value] of Object.entries(MALLOC_SETTINGS))
        expect(unit).toMatch(new RegExp(`^Environment=.* ${name}=${value}$`, 'm'));
      // The defaults of the two differ, and are what the pages name.
      expect(unit).not.toContain('METRICS_PORT');
    }
    const worker = readFileSync('deploy/systemd/countersign-worker.service', 'utf8');
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(worker)?.[1])).toBeGreaterThan(15);
  });

  const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
  it.skipIf(!hasSystemd)('has units that systemd takes', () => {
    const folder = temporaryFolder();
    for (const unit of units) {
      // Node.js is elsewhere on this machine, perhaps.
      const here = readFileSync(join('deploy/systemd', unit), 'utf8').replace(
        '/usr/bin/node',
        process.execPath,
      );
      writeFileSync(join(folder, unit), here);
    }
    const { stdout, stderr } = spawnSync(
      'systemd-analyze',
      ['verify', ...units.map((unit) => join(folder, unit))],
      {
        encoding: 'utf8',
      },
    );
    expect(`${stdout}${stderr}`.split('\n').filter((line) => line.includes('countersign'))).toEqual([]);
  });
});

function pagesOf(folder: string): string[] {
  return readdirSync(folder).filter((name) => name.endsWith('.md'));
}

// Reads every import and fails on an arrow that the house does not allow. It must read text only and never load the code.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';

type Import = { from: string; to: string; typeOnly: boolean };

const ROOTS = ['src', 'workflows', 'activities'];
const FEATURE_ROOMS =
  /^src\/(tenants|applications|agents|keys|enrollments|anchors|challenges|tokens|dpop|issuer|trusted-issuers|delegations|token-exchange|audit|events|webhooks|retention|doctor|operators|master-keys|crypto)\//;
/** The rooms that are no feature: there a bare file name may do I/O. */
const OTHER_ROOMS = [
  'database',
  'errors',
  'http',
  'local',
  'metrics',
  'process',
  'sdk',
  'temporal',
  'tracing',
];
const LONGEST_FILE = 400;

function listFiles(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? listFiles(path) : path.endsWith('.ts') ? [path] : [];
  });
}

function readImports(file: string): Import[] {
  const text = readFileSync(file, 'utf8');
  const pattern =
    /^\s*(?:import|export)\s+(type\s+)?(?:[^'";]*?\sfrom\s+)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/gm;
  return [...text.matchAll(pattern)].map((match) => {
    const target = match[2] ?? match[3] ?? '';
    const to = target.startsWith('.') ? normalize(join(dirname(file), target)) : target;
    return { from: file, to, typeOnly: match[1] !== undefined };
  });
}

/** `store` for agent.store.ts; `` for a bare file name. */
const roleOf = (file: string) => /\.([a-z-]+)\.ts$/.exec(file)?.[1] ?? '';
const isPure = (file: string) => FEATURE_ROOMS.test(file) && roleOf(file) === '';
const roomOf = (file: string) => dirname(file);
const inRepository = (path: string) => ROOTS.some((root) => path.startsWith(`${root}/`));

const files = ROOTS.flatMap(listFiles);
const imports = files.flatMap(readImports);

/** Every rule says what is forbidden; an import that any rule matches fails. */
const FORBIDDEN: readonly { rule: string; matches: (arrow: Import) => boolean }[] = [
  {
    rule: 'a pure file imports no Node module, no I/O and no framework',
    matches: ({ from, to, typeOnly }) =>
      isPure(from) &&
      !typeOnly &&
      (to.startsWith('node:') || /^(koa|@koa\/|pg|sequelize|undici|@temporalio\/|pino)/.test(to)),
  },
  {
    rule: 'a pure file imports pure files only',
    matches: ({ from, to, typeOnly }) =>
      isPure(from) &&
      !typeOnly &&
      inRepository(to) &&
      !isPure(to) &&
      !/^src\/(errors|temporal\/names)/.test(to),
  },
  {
    rule: 'a store is imported by the services and stores of its own room, and by compose',
    matches: ({ from, to, typeOnly }) =>
      roleOf(to) === 'store' &&
      !typeOnly &&
      roomOf(from) !== roomOf(to) &&
      !(from.startsWith('src/webhooks/') && to.startsWith('src/webhooks/') && roleOf(from) === 'store') &&
      !from.startsWith('src/compose'),
  },
  {
    rule: 'routes talk to services, never to stores, models or the database',
    matches: ({ from, to }) =>
      roleOf(from) === 'routes' &&
      (['store', 'model'].includes(roleOf(to)) ||
        /^(pg|sequelize)$/.test(to) ||
        to.startsWith('src/platform/database/')),
  },
  {
    rule: 'models are for stores only',
    matches: ({ from, to, typeOnly }) =>
      roleOf(to) === 'model' &&
      !typeOnly &&
      !['store', 'model'].includes(roleOf(from)) &&
      !from.startsWith('src/compose'),
  },
  {
    rule: 'Sequelize stays in the database room, models and stores',
    matches: ({ from, to, typeOnly }) =>
      to === 'sequelize' &&
      !typeOnly &&
      !from.startsWith('src/platform/database/') &&
      !['model', 'store'].includes(roleOf(from)),
  },
  {
    rule: 'services know no HTTP framework and no route',
    matches: ({ from, to }) =>
      ['service', 'store', 'model'].includes(roleOf(from)) &&
      (/^(koa|@koa\/)/.test(to) || (to.startsWith('src/platform/http/') && roleOf(to) !== 'service')),
  },
  {
    rule: 'only the HTTP room imports Koa',
    matches: ({ from, to }) =>
      /^(koa|@koa\/.*)$/.test(to) && !from.startsWith('src/platform/http/') && !from.startsWith('src/sdk/'),
  },
  {
    rule: 'workflows import pure files, names, and activities as types',
    matches: ({ from, to, typeOnly }) =>
      from.startsWith('workflows/') &&
      !(to.startsWith('workflows/') || to === 'src/platform/temporal/names.ts' || isPure(to)) &&
      !(typeOnly && to.startsWith('activities/')) &&
      !(typeOnly && inRepository(to)) &&
      !/^@temporalio\/(workflow|common)$/.test(to),
  },
  {
    rule: 'activities call services, never stores or the database',
    matches: ({ from, to, typeOnly }) =>
      from.startsWith('activities/') &&
      !typeOnly &&
      (['store', 'model'].includes(roleOf(to)) ||
        /^(pg|sequelize)$/.test(to) ||
        to.startsWith('src/platform/database/')),
  },
  {
    rule: 'the sdk imports pure files of crypto, challenges, keys and signing only, and no Node module',
    matches: ({ from, to, typeOnly }) =>
      from.startsWith('src/sdk/') &&
      !typeOnly &&
      (to.startsWith('node:') ||
        (inRepository(to) &&
          !(
            to.startsWith('src/sdk/') ||
            (/^src\/(crypto|challenges|keys|webhooks\/signing)\//.test(to) && isPure(to))
          ))),
  },
  {
    rule: 'only the entry point composes, and only it starts the local stack',
    matches: ({ from, to, typeOnly }) =>
      !typeOnly &&
      (/^src\/(main|command-line|compose|roles|worker)\b/.test(to) || to.startsWith('src/app/local/')) &&
      !/^src\/(main|command-line|compose|roles|worker|local\/)/.test(from),
  },
];

/** For each rule an arrow that it must refuse: a rule that refuses nothing would protect nothing. */
const REFUSED: Readonly<Record<string, readonly [from: string, to: string]>> = {
  'a pure file imports no Node module, no I/O and no framework': ['src/identity/keys/key.ts', 'node:crypto'],
  'a pure file imports pure files only': ['src/identity/keys/key.ts', 'src/identity/keys/key.store.ts'],
  'a store is imported by the services and stores of its own room, and by compose': [
    'src/identity/agents/agent.service.ts',
    'src/identity/keys/key.store.ts',
  ],
  'routes talk to services, never to stores, models or the database': [
    'src/identity/agents/agent.routes.ts',
    'src/identity/agents/agent.store.ts',
  ],
  'models are for stores only': [
    'src/identity/agents/agent.service.ts',
    'src/identity/agents/agent.model.ts',
  ],
  'Sequelize stays in the database room, models and stores': [
    'src/identity/agents/agent.service.ts',
    'sequelize',
  ],
  'services know no HTTP framework and no route': [
    'src/identity/agents/agent.service.ts',
    'src/platform/http/route.ts',
  ],
  'only the HTTP room imports Koa': ['src/identity/agents/agent.routes.ts', 'koa'],
  'workflows import pure files, names, and activities as types': [
    'workflows/webhook-delivery.ts',
    'src/webhooks/deliveries/delivery.service.ts',
  ],
  'activities call services, never stores or the database': [
    'activities/webhook-delivery.ts',
    'src/webhooks/endpoints/endpoint.store.ts',
  ],
  'the sdk imports pure files of crypto, challenges, keys and signing only, and no Node module': [
    'src/sdk/receiver.ts',
    'src/webhooks/signing/delivery-signature.node.ts',
  ],
  'only the entry point composes, and only it starts the local stack': [
    'src/platform/http/app.ts',
    'src/app/wiring/compose.ts',
  ],
};

describe('the house', () => {
  it.each(FORBIDDEN)('is really held by a rule: $rule', ({ rule, matches }) => {
    const [from, to] = REFUSED[rule] ?? ['', ''];
    expect(matches({ from, to, typeOnly: false })).toBe(true);
  });

  it('has files and imports to look at', () => {
    expect(files.length).toBeGreaterThan(40);
    expect(imports.length).toBeGreaterThan(files.length);
  });

  it.each(FORBIDDEN)('$rule', ({ matches }) => {
    const broken = imports.filter(matches).map(({ from, to }) => `${from} → ${to}`);
    expect(broken).toEqual([]);
  });

  it('hands the environment from the entry point to config.ts, and reads it nowhere else', () => {
    const readers = files.filter((file) => /\bprocess\.env\b/.test(readFileSync(file, 'utf8')));
    expect(
      readers.filter((file) => !['src/main.ts'].includes(file) && !file.startsWith('src/app/local/')),
    ).toEqual([]);
  });

  it('knows each room as a feature or as none', () => {
    const rooms = readdirSync('src').filter((name) => statSync(join('src', name)).isDirectory());
    expect(rooms.filter((room) => !FEATURE_ROOMS.test(`src/${room}/`))).toEqual(OTHER_ROOMS);
  });

  it('gives pure files no clock, no timer and no randomness', () => {
    const impure =
      /\b(Date\.now\(|new Date\(\)|performance\.|Math\.random\(|set(Timeout|Interval|Immediate)\(|fetch\(|crypto\.getRandomValues|process\.\w)/;
    expect(impure.test('const now = Date.now();')).toBe(true);
    expect(files.filter((file) => isPure(file) && impure.test(readFileSync(file, 'utf8')))).toEqual([]);
  });

  it('numbers decisions and migrations once each', () => {
    for (const folder of ['docs/decisions', 'src/platform/database/migrations']) {
      const numbers = readdirSync(folder).map((name) => name.slice(0, 4));
      expect(numbers.filter((number, index) => numbers.indexOf(number) !== index)).toEqual([]);
    }
  });

  it('has no barrels, helpers or utilities', () => {
    const allowed = ['workflows/index.ts', 'activities/index.ts'];
    expect(
      files.filter(
        (file) => /\/(index|utils?|helpers?|common|misc)\.ts$/.test(file) && !allowed.includes(file),
      ),
    ).toEqual([]);
  });

  it('keeps every file below its ceiling and opens each with a comment that says what it is for', () => {
    const tests = listFiles('test');
    expect(
      [...files, ...tests].filter((file) => readFileSync(file, 'utf8').split('\n').length > LONGEST_FILE + 1),
    ).toEqual([]);
    expect(files.filter((file) => !/^(#!.*\n)?\/\/ /.test(readFileSync(file, 'utf8')))).toEqual([]);
  });
});

// Reads every import and fails on an arrow that the house does not allow. It must read text only and never load the
// code.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';

type Import = { from: string; to: string; typeOnly: boolean };

/** What other projects install: below all wings. */
const PACKAGES = readdirSync('packages')
  .filter((name) => existsSync(`packages/${name}/package.json`))
  .map((name) => `packages/${name}/src`);
const ROOTS = ['src', 'workflows', 'activities', ...PACKAGES];

/** The wings from the roof down; two of one rank import nothing from each other. Nothing stands above main.ts. */
const RANKS = [
  ['main.ts', 'console'],
  ['app'],
  ['authentication', 'operations'],
  ['identity'],
  ['webhooks'],
  ['events', 'audit'],
  ['platform'],
];
/** Where a bare file name is pure: no clock, no randomness, no I/O. */
const PURE_ROOMS =
  /^src\/(authentication|operations|webhooks|identity|events|audit|platform\/(crypto|egress))\//;
/** The pure files of packages and of the platform that lie outside such rooms. */
const PURE_FILES =
  /^(packages\/(agent\/src\/payloads|receiver\/src\/(canonical-string|delivery-headers|suites)|resource-server\/src\/(proof-target|bloom-filter))|src\/platform\/(errors\/.*|database\/(snapshot-position|kept-days)|columns|json-values|service|scopes|scope-hash|act|timestamp|context|address-group))\.ts$/;
/** The names of workflows, signals and task queues: constants, some of them typed by Temporal. */
const NAMES = 'src/platform/temporal/names.ts';
/** What the role of a file is; docs/architecture.md says what each may do. A bare name has none. */
const SUFFIXES = [
  'routes',
  'schemas',
  'examples',
  'model',
  'store',
  'service',
  'metrics',
  'commands',
  'check',
  'client',
  'node',
];
/** Statements about rows that several rooms of webhooks change in their transactions: each names the store it uses. */
const SHARED_STORES =
  /^src\/webhooks\/(rows\/[\w-]+|endpoints\/endpoint-permit|subscriptions\/subscription)\.store\.ts$/;
const LONGEST_FILE = 400;

function listFiles(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? listFiles(path) : /\.tsx?$/.test(path) ? [path] : [];
  });
}

/** What runs without being compiled. */
const programs = (): string[] =>
  ['bench', 'scripts', 'test']
    .flatMap((root) =>
      readdirSync(root, { recursive: true, encoding: 'utf8' }).map((name) => join(root, name)),
    )
    .filter((file) => file.endsWith('.mjs'));

function readImports(file: string): Import[] {
  const text = readFileSync(file, 'utf8');
  const pattern =
    /^\s*(?:import|export)\s+(type\s+)?(?:([^'";]*?)\sfrom\s+)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/gm;
  return [...text.matchAll(pattern)].map(([, type, names, from, dynamic]) => {
    const target = from ?? dynamic ?? '';
    const to = target.startsWith('.') ? normalize(join(dirname(file), target)) : target;
    return { from: file, to, typeOnly: type !== undefined || isTypesOnly(names) };
  });
}

/** `{ type A, type B }`: nothing of it is left at run time. */
function isTypesOnly(names = ''): boolean {
  const list = /^\{([^}]*)\}$/
    .exec(names.trim())?.[1]
    ?.split(',')
    .map((name) => name.trim());
  const given = list?.filter((name) => name !== '') ?? [];
  return given.length > 0 && given.every((name) => name.startsWith('type '));
}

/** `store` for agent.store.ts; `` for a bare file name. */
const roleOf = (file: string) => /\.([a-z-]+)\.ts$/.exec(file)?.[1] ?? '';
const isWire = (file: string) => /\/wire(-[a-z]+)?\.ts$/.test(file);
const isWiring = (file: string) => isWire(file) || file.startsWith('src/app/wiring/');
const isPackage = (file: string) => file.startsWith('packages/');
const packageOf = (file: string) => file.split('/')[1] ?? '';
const isPure = (file: string) =>
  PURE_FILES.test(file) || (PURE_ROOMS.test(file) && roleOf(file) === '' && !isWiring(file));
const roomOf = (file: string) => dirname(file);
const wingOf = (file: string) => file.split('/')[1] ?? '';
const rankOf = (file: string) => RANKS.findIndex((wings) => wings.includes(wingOf(file)));
const inRepository = (path: string) => ROOTS.some((root) => path.startsWith(`${root}/`));

function dependenciesOf(file: string): string[] {
  const manifest = readFileSync(join('packages', packageOf(file), 'package.json'), 'utf8');
  const { dependencies, peerDependencies } = JSON.parse(manifest) as Record<string, object | undefined>;
  return Object.keys({ ...dependencies, ...peerDependencies });
}

const files = ROOTS.flatMap(listFiles);
const imports = files.flatMap(readImports);

/**
 * Every rule says what is forbidden; an import that any rule matches fails. `refuses` is an arrow that it must refuse.
 */
const RULES: readonly {
  rule: string;
  refuses: readonly [from: string, to: string];
  matches: (arrow: Import) => boolean;
}[] = [
  {
    rule: 'a file imports values of its own wing or of a lower one',
    refuses: ['src/webhooks/relay/relay.service.ts', 'src/identity/agents/agent.service.ts'],
    matches: ({ from, to, typeOnly }) =>
      !typeOnly &&
      from.startsWith('src/') &&
      to.startsWith('src/') &&
      wingOf(from) !== wingOf(to) &&
      rankOf(from) >= rankOf(to),
  },
  {
    rule: 'a pure file imports no Node module, no I/O and no framework',
    refuses: ['src/identity/keys/key.ts', 'node:crypto'],
    matches: ({ from, to, typeOnly }) =>
      isPure(from) &&
      !typeOnly &&
      (to.startsWith('node:') || /^(koa|@koa\/|pg|sequelize|undici|@temporalio\/|pino)/.test(to)),
  },
  {
    rule: 'a pure file imports pure files only',
    refuses: ['src/identity/keys/key.ts', 'src/identity/keys/key.store.ts'],
    matches: ({ from, to, typeOnly }) =>
      isPure(from) && !typeOnly && inRepository(to) && !isPure(to) && to !== NAMES,
  },
  {
    rule: 'a store is imported by its own room, and by the roots of the wiring',
    refuses: ['src/identity/keys/key.service.ts', 'src/identity/agents/agent.store.ts'],
    matches: ({ from, to, typeOnly }) =>
      roleOf(to) === 'store' &&
      !typeOnly &&
      roomOf(from) !== roomOf(to) &&
      !from.startsWith('src/app/wiring/') &&
      !(from.startsWith('src/webhooks/') && to.startsWith('src/webhooks/') && roleOf(from) === 'store') &&
      !(from.startsWith('src/webhooks/') && SHARED_STORES.test(to)),
  },
  {
    rule: 'a root of the wiring leaves metrics, clients and models to the wire.ts of their room',
    refuses: ['src/app/wiring/api.ts', 'src/webhooks/deliveries/delivery.client.ts'],
    matches: ({ from, to, typeOnly }) =>
      from.startsWith('src/app/wiring/') &&
      !typeOnly &&
      inRepository(to) &&
      !to.startsWith('src/platform/') &&
      ['metrics', 'client', 'model'].includes(roleOf(to)),
  },
  {
    rule: 'only the wiring and the tests import a wire.ts',
    refuses: ['src/identity/agents/agent.service.ts', 'src/identity/agents/wire.ts'],
    matches: ({ from, to, typeOnly }) => isWire(to) && !typeOnly && !isWiring(from),
  },
  {
    rule: 'routes talk to services, never to stores, models or the database',
    refuses: ['src/identity/agents/agent.routes.ts', 'src/identity/agents/agent.store.ts'],
    matches: ({ from, to }) =>
      roleOf(from) === 'routes' &&
      (['store', 'model'].includes(roleOf(to)) ||
        /^(pg|sequelize)$/.test(to) ||
        to.startsWith('src/platform/database/')),
  },
  {
    rule: 'models are for stores and wiring only',
    refuses: ['src/identity/agents/agent.service.ts', 'src/identity/agents/agent.model.ts'],
    matches: ({ from, to, typeOnly }) =>
      roleOf(to) === 'model' && !typeOnly && !['store', 'model'].includes(roleOf(from)) && !isWiring(from),
  },
  {
    rule: 'Sequelize stays in the database room, models and stores',
    refuses: ['src/identity/agents/agent.service.ts', 'sequelize'],
    matches: ({ from, to, typeOnly }) =>
      to === 'sequelize' &&
      !typeOnly &&
      !from.startsWith('src/platform/database/') &&
      !['model', 'store'].includes(roleOf(from)),
  },
  {
    rule: 'services know no HTTP framework and no route',
    refuses: ['src/identity/agents/agent.service.ts', 'src/platform/http/route.ts'],
    matches: ({ from, to }) =>
      ['service', 'store', 'model'].includes(roleOf(from)) &&
      (/^(koa|@koa\/)/.test(to) ||
        (to.startsWith('src/platform/http/') && !['service', 'model'].includes(roleOf(to)))),
  },
  {
    rule: 'only the HTTP room imports Koa',
    refuses: ['src/identity/agents/agent.routes.ts', 'koa'],
    matches: ({ from, to }) => /^(koa|@koa\/.*)$/.test(to) && !from.startsWith('src/platform/http/'),
  },
  {
    rule: 'workflows import pure files, names, and activities as types',
    refuses: ['workflows/webhook-delivery.ts', 'src/webhooks/deliveries/delivery.service.ts'],
    matches: ({ from, to, typeOnly }) =>
      from.startsWith('workflows/') &&
      !(to.startsWith('workflows/') || isPure(to) || to === NAMES) &&
      !(typeOnly && to.startsWith('activities/')) &&
      !(typeOnly && inRepository(to)) &&
      !/^@temporalio\/(workflow|common)$/.test(to),
  },
  {
    rule: 'activities call services, never stores or the database',
    refuses: ['activities/webhook-delivery.ts', 'src/webhooks/endpoints/endpoint.store.ts'],
    matches: ({ from, to, typeOnly }) =>
      from.startsWith('activities/') &&
      !typeOnly &&
      (['store', 'model'].includes(roleOf(to)) ||
        /^(pg|sequelize)$/.test(to) ||
        to.startsWith('src/platform/database/')),
  },
  {
    rule: 'a package imports nothing of the service and nothing of another package',
    refuses: ['packages/agent/src/index.ts', 'src/platform/scopes.ts'],
    matches: ({ from, to }) =>
      isPackage(from) &&
      (to.startsWith('.') ||
        (inRepository(to) && packageOf(from) !== packageOf(to)) ||
        /^countersign\b/.test(to)),
  },
  {
    rule: 'a package imports modules of Node in files for Node only, which are an entry of their own',
    refuses: ['packages/agent/src/index.ts', 'node:fs'],
    matches: ({ from, to }) =>
      isPackage(from) &&
      (to.startsWith('node:') || /(^|\/|\.)node\.ts$/.test(to)) &&
      !/(^|\/|\.)node\.ts$/.test(from),
  },
  {
    rule: 'a package imports what its package.json names',
    refuses: ['packages/agent/src/index.ts', 'koa'],
    matches: ({ from, to }) =>
      isPackage(from) &&
      !inRepository(to) &&
      !to.startsWith('node:') &&
      !dependenciesOf(from).some((name) => to === name || to.startsWith(`${name}/`)),
  },
  {
    rule: 'the console runs in browsers: it imports its own files, preact, and types of the service',
    refuses: ['src/console/main.tsx', 'src/platform/scopes.ts'],
    matches: ({ from, to, typeOnly }) =>
      from.startsWith('src/console/') &&
      !typeOnly &&
      !to.startsWith('src/console/') &&
      !/^preact(\/hooks|\/jsx-runtime)?$/.test(to),
  },
];

describe('the house', () => {
  it.each(RULES)('is really held by a rule: $rule', ({ refuses: [from, to], matches }) => {
    expect(matches({ from, to, typeOnly: false })).toBe(true);
  });

  it.each(RULES)('$rule', ({ matches }) => {
    const broken = imports.filter(matches).map(({ from, to }) => `${from} → ${to}`);
    expect(broken).toEqual([]);
  });

  it('hands the environment from the entry point to config.ts, and reads it nowhere else', () => {
    const readers = files.filter((file) => /\bprocess\.env\b/.test(readFileSync(file, 'utf8')));
    expect(readers.filter((file) => file !== 'src/main.ts' && !file.startsWith('src/app/local/'))).toEqual(
      [],
    );
  });

  it('opens connections to Postgres where their errors have a listener', () => {
    const holding = (places: readonly string[], opening: RegExp) =>
      places.filter((file) => opening.test(readFileSync(file, 'utf8')));
    expect(holding(files, /new pg\.(Client|Pool)\(/)).toEqual(['src/platform/database/client.ts']);
    // A pool ends before its connections do, and dropping a test's database ends those with an error.
    expect(holding([...listFiles('test'), ...programs()], /new pg\.Pool\(/)).toEqual([]);
  });

  it('gives each wing one rank', () => {
    expect(readdirSync('src').sort()).toEqual(RANKS.flat().sort());
  });

  it('gives files no role but those of the list', () => {
    const roles = new Set(files.map(roleOf).filter((role) => role !== ''));
    expect([...roles].filter((role) => !SUFFIXES.includes(role) && role !== 'interceptors')).toEqual([]);
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

  it('has no file that exports the statements of another room: who uses them, imports them', () => {
    const reexported = (text: string) =>
      [...text.matchAll(/^export (?!type\b)[^;]*? from '(\.\.\/[^']+\.store\.ts)'/gm)].map(([, to]) => to);
    expect(reexported("export { end, park } from '../rows/delivery-row.store.ts';")).toHaveLength(1);
    const found = files.filter((file) => reexported(readFileSync(file, 'utf8')).length > 0);
    expect(found).toEqual([]);
  });

  it('begins the first task with the next migration', () => {
    const [, number] =
      /migrations\/(\d{4})-agent-contact\.ts/.exec(readFileSync('CONTRIBUTING.md', 'utf8')) ?? [];
    const taken = readdirSync('src/platform/database/migrations').map(
      (name) => Number(name.slice(0, 4)) || 0,
    );
    expect(Number(number)).toBe(Math.max(...taken) + 1);
  });

  it('has no barrels, helpers or utilities', () => {
    const allowed = [
      'workflows/index.ts',
      'activities/index.ts',
      ...PACKAGES.map((root) => `${root}/index.ts`),
    ];
    expect(
      files.filter(
        (file) => /\/(index|utils?|helpers?|common|misc)\.ts$/.test(file) && !allowed.includes(file),
      ),
    ).toEqual([]);
  });

  it('keeps every file but migrations below its ceiling and opens each with a comment that says what it is for', () => {
    const ruled = [...files.filter((file) => !file.includes('/migrations/')), ...listFiles('test')];
    expect(ruled.filter((file) => readFileSync(file, 'utf8').split('\n').length > LONGEST_FILE + 1)).toEqual(
      [],
    );
    expect(files.filter((file) => !/^(#!.*\n)?\/\/ /.test(readFileSync(file, 'utf8')))).toEqual([]);
  });

  it('names files and folders that exist where tests are sorted', () => {
    const named = ['vitest.config.ts', 'test/setup/longest-first.ts'].flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/'(test\/[\w./-]+)'/g)].map(([, path]) => path ?? ''),
    );
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((path) => !existsSync(path))).toEqual([]);
  });

  it('has a source for each compiled file that a program imports, by the name that is checked', () => {
    const compiled = programs().flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/\b(?:from |import\()'((?:#|\.[^']*\/)dist\/[^']+)\.js'/g)].map(
        ([, path = '']) => path,
      ),
    );
    expect(compiled.length).toBeGreaterThan(10);
    // Without a source, or by a relative path, TypeScript takes the types of whatever was built last.
    expect(
      compiled.filter(
        (path) => !path.startsWith('#dist/') || !existsSync(`${path.slice('#dist/'.length)}.ts`),
      ),
    ).toEqual([]);
  });

  it('judges what a program imports of our packages by its source, since a fresh clone has no build of it', () => {
    const { paths } = JSON.parse(
      readFileSync('tsconfig.programs.json', 'utf8').replace(/^\s*\/\/.*$/gm, ''),
    ).compilerOptions;
    const ours = programs()
      .flatMap(readImports)
      .filter(({ to }) => to.startsWith('@countersign/'));
    expect(ours.length).toBeGreaterThan(0);
    const sourceOf = (name: string) =>
      paths[name]?.[0] ?? paths[`${dirname(name)}/*`]?.[0].replace('*', name.slice(dirname(name).length + 1));
    expect(ours.filter(({ to }) => !existsSync(sourceOf(to) ?? 'none'))).toEqual([]);
  });
});

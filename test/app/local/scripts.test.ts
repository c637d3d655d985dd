import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from './temporary-folder.ts';

const SCRIPTS = resolve('scripts');

function node(code: string, cwd = resolve('.')) {
  return spawnSync(process.execPath, ['--input-type=module', '-e', code], { cwd, encoding: 'utf8' });
}

describe('the version of Node.js', () => {
  const withVersion = (version: string) =>
    node(
      `Object.defineProperty(process.versions, 'node', { value: '${version}' }); await import('${SCRIPTS}/require-node.mjs');`,
    );

  it.each(['18.20.4', '20.18.3', '16.0.0'])('%s is refused in one line', (version) => {
    const { status, stderr } = withVersion(version);
    expect(status).toBe(1);
    expect(stderr).toBe(`Countersign needs Node.js 20.19 or newer; this is ${version}.\n`);
  });

  it.each(['20.19.0', '22.12.0', '24.1.0'])('%s is taken', (version) => {
    expect(withVersion(version)).toMatchObject({ status: 0, stderr: '' });
  });
});

describe('ports that collide', () => {
  const withPorts = (env: Record<string, string>) =>
    spawnSync(process.execPath, [join(SCRIPTS, 'require-ports.mjs')], {
      env: { DATA_DIR: SCRIPTS, ...env },
      encoding: 'utf8',
    });

  it.each([
    [{ PORT: '9000', TEMPORAL_UI_PORT: '9000' }, 'TEMPORAL_UI_PORT: is needed for PORT too'],
    [{ PORT: '9464' }, 'METRICS_PORT: is needed for PORT too'],
  ])('are refused before anything is built: %j', (env, line) => {
    const { status, stderr } = withPorts(env);
    expect({ status, stderr }).toEqual({ status: 2, stderr: `countersign: ${line}: choose another port\n` });
  });

  it.each([[{}], [{ PORT: '0', METRICS_PORT: '0' }], [{ PORT: '7233', TEMPORAL_ADDRESS: 'elsewhere:7233' }]])(
    'are none of %j',
    (env) => {
      expect(withPorts(env)).toMatchObject({ status: 0, stderr: '' });
    },
  );

  it('with another program are refused at the first start, before anything is built', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    try {
      const env = { PORT: String(port), METRICS_PORT: '0', TEMPORAL_ADDRESS: 'elsewhere:7233' };
      const first = withPorts({ ...env, DATA_DIR: join(SCRIPTS, 'no-such-folder') });
      expect(first.stderr).toMatch(
        new RegExp(
          `^countersign: Port ${port} is in use, and the API needs it: .* set PORT to a free port\\.\n$`,
        ),
      );
      expect(first.status).toBe(1);
      expect(withPorts(env)).toMatchObject({ status: 0, stderr: '' });
    } finally {
      server.close();
    }
  });
});

describe('the last line of .ci/run', () => {
  const suite = (status: string, ...tests: string[]) => ({
    status,
    name: resolve('test/a.test.ts'),
    message: '',
    assertionResults: tests.map((result) => ({
      status: result,
      ancestorTitles: [],
      title: 'a case',
      failureMessages: ['Error'],
    })),
  });

  it.each([
    [
      'all holds',
      { testResults: [suite('passed', 'passed', 'passed', 'skipped')] },
      0,
      0,
      '3 passed, 0 failed',
      0,
    ],
    ['a test fails', { testResults: [suite('failed', 'passed', 'failed')] }, 0, 1, '2 passed, 1 failed', 1],
    ['the check fails', { testResults: [suite('passed', 'passed')] }, 1, 0, '1 passed, 1 failed', 1],
    [
      'a file does not load',
      { testResults: [suite('failed'), suite('passed', 'passed')] },
      0,
      1,
      '2 passed, 1 failed',
      1,
    ],
    ['no test could run', null, 0, 1, '1 passed, 1 failed', 1],
    [
      'an error that no test caught',
      { testResults: [suite('passed', 'passed')] },
      0,
      1,
      '2 passed, 1 failed',
      1,
    ],
  ])('counts when %s', (_, report, checked, tested, line, code) => {
    const file = join(temporaryFolder(), 'report.json');
    if (report !== null) writeFileSync(file, JSON.stringify(report));
    const args = [join(SCRIPTS, 'count.mjs'), String(checked), file, String(tested)];
    const { stdout, status } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect([stdout.split('\n').slice(code === 0 ? 0 : -2), status]).toEqual([[line, ''], code]);
  });

  it('comes after the failed cases, each with the first line of its errors', () => {
    const file = join(temporaryFolder(), 'test');
    const failed = (...failureMessages: string[]) => ({
      status: 'failed',
      ancestorTitles: ['a relay', 'of many'],
      title: 'takes over',
      failureMessages,
    });
    const testResults = [
      {
        status: 'failed',
        name: resolve('test/a.test.ts'),
        assertionResults: [
          { ...failed(), status: 'passed' },
          failed(
            '\u001b[31mAssertionError\u001b[39m: 1 is not 2\n    at a.test.ts',
            '\nError: away\n    at b.ts',
          ),
        ],
      },
      {
        status: 'failed',
        name: resolve('test/b.test.ts'),
        message: 'Cannot find module\nx.ts',
        assertionResults: [],
      },
    ];
    writeFileSync(file, JSON.stringify({ testResults }));
    const args = [join(SCRIPTS, 'count.mjs'), '1', file, '1', `${file}:long`, '137'];
    expect(spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout).toBe(
      [
        'Failed:',
        '  npm run check',
        '      ended with exit code 1; its output is above',
        '  test/a.test.ts > a relay > of many > takes over',
        '      AssertionError: 1 is not 2',
        '      Error: away',
        '  test/b.test.ts',
        '      Cannot find module',
        '      x.ts',
        '  npm run test:long',
        '      ended with exit code 137; its output is above',
        '1 passed, 4 failed',
        '',
      ].join('\n'),
    );
  });

  it('adds up two runs, one of which fails without a report', () => {
    const file = join(temporaryFolder(), 'report.json');
    writeFileSync(file, JSON.stringify({ testResults: [suite('passed', 'passed')] }));
    const args = [join(SCRIPTS, 'count.mjs'), '0', file, '0', `${file}.none`, '1'];
    const { stdout, status } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect(stdout).toMatch(/^Failed:\n {2}npm run report\.json\.none\n.*\n2 passed, 1 failed\n$/);
    expect(status).toBe(1);
  });
});

describe('a step that takes long', () => {
  it('is told of again and again until it ends', () => {
    const { stdout } = node(
      `import { withProgress } from '${SCRIPTS}/prepare.mjs'; const work = new Promise((resolve) => setTimeout(resolve, 500, 7)); console.log(await withProgress('building', work, 150));`,
    );
    expect(stdout).toMatch(/^(Still building \(\d s\)\.\n){2,}7\n$/);
  });

  it('is waited for by a second command of the clone, which says so once', async () => {
    const clone = temporaryFolder();
    cpSync(SCRIPTS, join(clone, 'scripts'), { recursive: true });
    mkdirSync(join(clone, '.data'));
    writeFileSync(join(clone, '.data/prepare.lock'), String(process.pid));
    const child = spawn(process.execPath, [join(clone, 'scripts/demo.mjs')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      said += chunk;
    });
    await once(child.stdout, 'data');
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(said).toBe('Waiting for another command, which installs or builds this clone.\n');
    expect(child.exitCode).toBeNull();
  });
});

describe('what a clone needs before it runs', () => {
  function clone(): string {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'src'));
    mkdirSync(join(folder, 'dist'));
    writeFileSync(join(folder, 'src/main.ts'), 'export {};\n');
    return folder;
  }
  const stale = (folder: string) =>
    node(
      `import { isStale } from '${SCRIPTS}/sources.mjs'; process.stdout.write(String(isStale('${folder}')));`,
    ).stdout;
  const build = (folder: string) =>
    node(
      `import { writeFileSync } from 'node:fs'; import { hashSources } from '${SCRIPTS}/sources.mjs'; writeFileSync('${folder}/dist/.sources', hashSources('${folder}'));`,
    );

  it('is a build when the content of any source changed, came or went', () => {
    const folder = clone();
    expect(stale(folder)).toBe('true');
    build(folder);
    expect(stale(folder)).toBe('false');
    for (const change of [
      () => writeFileSync(join(folder, 'src/main.ts'), 'export { };\n'),
      () => writeFileSync(join(folder, 'src/more.ts'), ''),
      () => rmSync(join(folder, 'src/more.ts')),
      () => writeFileSync(join(folder, 'package-lock.json'), '{}'),
    ]) {
      change();
      expect(stale(folder)).toBe('true');
      build(folder);
    }
    writeFileSync(join(folder, 'README.md'), 'no source');
    expect(stale(folder)).toBe('false');
  });

  it('is a bundle of the workflows only when a module that they reach changed', () => {
    const folder = clone();
    const file = (name: string, text: string) => writeFileSync(join(folder, 'dist', name), text);
    writeFileSync(join(folder, 'package-lock.json'), '{}');
    mkdirSync(join(folder, 'scripts'));
    writeFileSync(join(folder, 'scripts/compile.mjs'), '');
    const hash = () =>
      execFileSync(process.execPath, [
        '--input-type=module',
        '-e',
        `import { hashReachable } from '${SCRIPTS}/sources.mjs'; process.stdout.write(hashReachable('${folder}', '${folder}/dist/index.js'));`,
      ]).toString();
    file('index.js', "export { a } from './a.js';\n");
    file('a.js', "import { b } from './b.js'; import { x } from 'elsewhere'; export const a = b;\n");
    file('b.js', 'export const b = 1;\n');
    file('other.js', 'export const other = 1;\n');
    const before = hash();
    file('other.js', 'export const other = 2;\n');
    expect(hash()).toBe(before);
    file('b.js', 'export const b = 2;\n');
    expect(hash()).not.toBe(before);
  });
});

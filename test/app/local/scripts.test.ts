import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from './temporary-folder.ts';

const SCRIPTS = resolve('scripts');

function node(code: string, cwd = resolve('.'), env = process.env) {
  return spawnSync(process.execPath, ['--input-type=module', '-e', code], { cwd, env, encoding: 'utf8' });
}

const evaluate = (call: string): unknown =>
  JSON.parse(
    node(`import * as look from '${SCRIPTS}/look.mjs'; process.stdout.write(JSON.stringify(look.${call}));`)
      .stdout,
  );

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

describe('the cost of a gate', () => {
  const costOf = (call: string): { line: string; failed: { errors: string[] }[] } =>
    JSON.parse(
      node(`import { readCost } from '${SCRIPTS}/cost.mjs'; ${call}; console.log(JSON.stringify(cost));`)
        .stdout,
    );

  it.skipIf(process.platform !== 'linux')('has the processor time of processes that have ended', () => {
    const busy = 'while (process.cpuUsage().user < 1_000_000);';
    const started = `const { execFileSync } = await import('node:child_process'); execFileSync(process.execPath, ['-e', '${busy}'])`;
    const { line, failed } = costOf(`${started}; const cost = readCost()`);
    expect(Number(/and (\d+) s of processor time/.exec(line)?.[1])).toBeGreaterThanOrEqual(1);
    expect(failed).toEqual([]);
  });

  it('is red beyond a third more than the dearest that was measured', () => {
    expect(costOf('const cost = readCost(1_500, 600)').failed).toEqual([]);
    expect(costOf('const cost = readCost(2_001, 600)').failed).toMatchObject([
      { errors: [expect.stringContaining('600 s and 2001 s of processor time')] },
    ]);
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

describe('the last line of a run', () => {
  it('comes after the failed cases, each with the first line of its errors', () => {
    const failed = [
      { name: 'npm run check', errors: ['ended with exit code 1; see above'] },
      {
        name: 'test/a.test.ts > a relay of many takes over',
        errors: [
          '\u001b[31mAssertionError\u001b[39m: 1 is not 2\n    at a.test.ts',
          '\nError: away\n    at b.ts',
        ],
      },
    ];
    const { stdout } = node(
      `import { conclude } from '${SCRIPTS}/failed-cases.mjs'; process.stdout.write(conclude(7, ${JSON.stringify(failed)}));`,
    );
    expect(stdout).toBe(
      [
        'Failed:',
        '  npm run check',
        '      ended with exit code 1; see above',
        '  test/a.test.ts > a relay of many takes over',
        '      AssertionError: 1 is not 2',
        '      Error: away',
        '7 passed, 2 failed',
        '',
      ].join('\n'),
    );
  });

  it.each([
    ['that left no cases', 'none', 1, { passed: 0, failed: 1 }],
    ['that ended badly without a failed case', 'cases.json', 137, { passed: 2, failed: 1 }],
    ['in which all held', 'cases.json', 0, { passed: 2, failed: 0 }],
  ])('counts a run %s', (_, name, code, expected) => {
    const file = join(temporaryFolder(), name);
    if (name !== 'none') writeFileSync(file, JSON.stringify({ passed: 2, failed: [] }));
    const cases = evaluate(`readCases('${file}', 'vitest', ${code})`) as {
      passed: number;
      failed: unknown[];
    };
    expect({ ...cases, failed: cases.failed.length }).toEqual(expected);
  });
});

describe('the second look', () => {
  const failed = (file: string | undefined, project = 'database') => ({ name: `${file} > x`, file, project });
  const repeat = (...cases: object[]) => evaluate(`filesToRepeat(${JSON.stringify({ failed: cases })})`);

  it('is at each failed file once, unless one is pure, is no file, or many are', () => {
    const two = [failed('a'), failed('b'), failed('a')];
    expect(repeat(...two)).toEqual(['a', 'b']);
    expect(repeat()).toEqual([]);
    expect(repeat(...two, failed('c', 'pure'))).toEqual([]);
    expect(repeat(...two, failed(undefined))).toEqual([]);
    expect(repeat(...Array.from({ length: 11 }, (_, n) => failed(`file ${n}`)))).toEqual([]);
  });

  it('counts each case once, accepts files that are green now, by name, and refuses those red twice', () => {
    const first = { passed: 10, failed: [failed('a'), failed('b')], files: { a: 2, b: 3, c: 5 } };
    const compare = (second: object) =>
      evaluate(`compareLooks(${JSON.stringify(first)}, ${JSON.stringify(second)}, ['a', 'b'])`);
    expect(compare({ passed: 7, failed: [] })).toEqual({
      cases: { passed: 12, failed: [] },
      unsteady: first.failed,
    });
    expect(compare({ passed: 6, failed: [failed('b')] })).toEqual({
      cases: { passed: 11, failed: [failed('b')] },
      unsteady: [failed('a')],
    });
    const nothing = { name: 'vitest', errors: [] };
    expect(compare({ passed: 0, failed: [nothing] })).toEqual({
      cases: { passed: 5, failed: [nothing] },
      unsteady: [],
    });
  });
});

describe('the second look at files with lanes', () => {
  it('has one at a time, and says why each failed before', () => {
    const clone = temporaryFolder();
    const write = (name: string, text: string) => writeFileSync(join(clone, name), text);
    cpSync(SCRIPTS, join(clone, 'scripts'), { recursive: true });
    symlinkSync(resolve('node_modules'), join(clone, 'node_modules'));
    write(
      'vitest.config.mjs',
      `const test = { name: 'lanes', globals: true, include: ['*.test.mjs'], pool: 'forks', isolate: false, maxWorkers: 2 };
       export default { test: { reporters: ['./scripts/failed-cases.mjs'], projects: [{ test }] } };`,
    );
    for (const name of ['one', 'two'])
      write(
        `${name}.test.mjs`,
        `import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
         test('holds', async () => {
           if (!existsSync('${name}')) {
             writeFileSync('${name}', '');
             throw new Error('${name} was crowded');
           }
           appendFileSync('looks', '${name} begins\\n');
           await new Promise((resolve) => setTimeout(resolve, 300));
           appendFileSync('looks', '${name} ends\\n');
         });`,
      );
    const { stdout } = node(
      `import { lookTwice } from './scripts/look.mjs'; console.log(JSON.stringify(await lookTwice(['--project=lanes'])));`,
      clone,
      { ...process.env, CI: '1' },
    );
    expect(stdout).toMatch(/"passed":2,"failed":\[\]/);
    expect(stdout).toMatch(
      /\nUnsteady, at a load of [\d.]+:\n {2}(\w+)\.test\.mjs > holds\n {6}Error: \1 was crowded\n/,
    );
    expect(readFileSync(join(clone, 'looks'), 'utf8')).toMatch(/^(?:(\w+) begins\n\1 ends\n){2}$/);
  });
});

describe('the cases of a run', () => {
  it('name failed tests, files that do not load, and errors that no test caught, with their places', () => {
    const folder = temporaryFolder();
    const [config, file] = [join(folder, 'vitest.config.mjs'), join(folder, 'cases.json')];
    const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
    write('vitest.config.mjs', "export default { test: { globals: true, include: ['*.test.mjs'] } };");
    write('good.test.mjs', "test('holds', () => undefined);");
    // A case that the machine cannot run has neither passed nor failed.
    write(
      'left-out.test.mjs',
      "test.runIf(process.env.NOWHERE === 'set')('cannot run here', () => undefined);",
    );
    write(
      'bad.test.mjs',
      "describe('a relay', () => { test('ends', () => { throw new Error('away'); }); });",
    );
    write('unread.test.mjs', "import './none.mjs';");
    write(
      'late.test.mjs',
      `test('is quiet', async () => {
         Promise.reject(new Error('nobody waits'));
         await new Promise((resolve) => setTimeout(resolve, 50));
       });`,
    );
    const reporter = join(SCRIPTS, 'failed-cases.mjs');
    const args = [resolve('node_modules/vitest/vitest.mjs'), 'run', '--root', folder, '--config', config];
    const { stdout, status } = spawnSync(process.execPath, [...args, `--reporter=${reporter}`], {
      encoding: 'utf8',
      cwd: folder,
      env: { ...process.env, CASES_FILE: file },
    });
    expect(status).toBe(1);
    const { passed, failed, files } = JSON.parse(readFileSync(file, 'utf8')) as {
      passed: number;
      failed: { name: string; file: string; errors: string[] }[];
      files: Record<string, number>;
    };
    expect(passed).toBe(2);
    expect(files).toMatchObject({ 'good.test.mjs': 1, 'late.test.mjs': 1, 'bad.test.mjs': 0 });
    for (const { name, file } of failed) expect(name.startsWith(file)).toBe(true);
    expect(failed.map(({ name }) => name).sort()).toEqual([
      'bad.test.mjs > a relay > ends',
      'late.test.mjs > is quiet (or outside of the tests): Unhandled Rejection',
      'unread.test.mjs',
    ]);
    // What no test caught comes last.
    expect(failed.at(-1)?.errors.join('\n')).toMatch(/nobody waits[\s\S]*\nfrom .*late\.test\.mjs/);
    expect(stdout).toMatch(/\n2 passed, 3 failed\n$/);
  });
});

describe('a step that takes long', () => {
  it('is printed again and again until it ends', () => {
    const { stdout } = node(
      `import { withProgress } from '${SCRIPTS}/prepare.mjs'; const write = process.stdout.write.bind(process.stdout); let lines = 0;
       const work = new Promise((resolve) => { process.stdout.write = (line) => { lines += 1; if (lines === 2) resolve(7); return write(line); }; });
       const result = await withProgress('building', work, 50); process.stdout.write = write; console.log(result);`,
    );
    expect(stdout).toMatch(/^(Still building \(\d s\)\.\n){2,}7\n$/);
  });

  it('is waited for by a second command of the clone, which says so once', async () => {
    const clone = temporaryFolder();
    cpSync(SCRIPTS, join(clone, 'scripts'), { recursive: true });
    mkdirSync(join(clone, '.data'));
    writeFileSync(join(clone, '.data/prepare.lock'), String(process.pid));
    // Each look at the lock is followed by a pause, which is counted on the other stream.
    const counting = `import timers from 'node:timers/promises'; import { syncBuiltinESMExports } from 'node:module';
      const sleep = timers.setTimeout;
      timers.setTimeout = (...given) => { console.error('looked'); return sleep(...given); };
      syncBuiltinESMExports();`;
    const counted = ['--import', `data:text/javascript,${encodeURIComponent(counting)}`];
    const child = spawn(process.execPath, [...counted, join(clone, 'scripts/demo.mjs')], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      said += chunk;
    });
    let looks = 0;
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      looks += chunk.split('looked\n').length - 1;
    });
    await expect.poll(() => looks).toBeGreaterThan(2);
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

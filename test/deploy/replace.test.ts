// deploy/replace.sh, with a stand-in for the engine: however many processes run, never fewer than before serve. The
// deployment driver does the same with Docker, under load.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../app/local/temporary-folder.ts';

type Container = { id: string; name: string; version: string; health: string };
type Engine = { containers: Container[]; version: string; calls: number; fewest: number; most: number };

/** So many containers of a version, and the version that compose's file and `.env` name today. */
function engineOf(running: readonly [version: string, count: number, health?: string][], version = 'new') {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'clone'));
  cpSync('deploy', join(folder, 'clone', 'deploy'), { recursive: true });
  const engine = resolve('test/deploy/stand-in-engine.mjs');
  writeFileSync(join(folder, 'docker'), `#!/bin/bash\nexec "${process.execPath}" "${engine}" "$@"\n`, {
    mode: 0o755,
  });
  symlinkSync(join(folder, 'clone', 'deploy', 'replace.sh'), join(folder, 'replace'));
  const file = join(folder, 'engine.json');
  const containers = running.flatMap(([of, count, health = 'healthy'], index) =>
    Array.from({ length: count }, (_, n) => ({
      ...{ id: `c${index}${n}`, name: `/one-api-${index}${n}`, version: of, health },
    })),
  );
  const fewest = containers.filter(({ health }) => health === 'healthy').length;
  const set = (engine: object) => writeFileSync(file, JSON.stringify(engine));
  set({ containers, version, made: 100, calls: 0, fewest, most: containers.length });
  const read = () => JSON.parse(readFileSync(file, 'utf8')) as Engine;
  return {
    read,
    change: (more: object) => set({ ...read(), ...more }),
    replace: (program = 'clone/deploy/replace.sh') =>
      spawnSync(join(folder, program), ['api'], {
        cwd: '/',
        env: { ...process.env, PATH: `${folder}:${process.env.PATH}`, ENGINE: file },
        encoding: 'utf8',
      }),
    versions: () => read().containers.map((one) => `${one.version} ${one.health}`),
  };
}
const many = (count: number, text: string) => Array.from({ length: count }, () => text);

describe('replace.sh', () => {
  it.each([1, 2, 3, 4, 7])(
    'replaces %i processes, one after the other, and never do fewer serve',
    (count) => {
      const { replace, read, versions } = engineOf([['old', count]]);
      expect(replace()).toMatchObject({ status: 0, stderr: '' });
      expect(versions()).toEqual(many(count, 'new healthy'));
      expect(read()).toMatchObject({ fewest: count, most: count + 1 });
    },
  );

  it('replaces those of the same image and settings, because files that settings name may have changed', () => {
    const { replace, read } = engineOf([['new', 2]]);
    const former = read().containers.map(({ id }) => id);
    expect(replace().status).toBe(0);
    const ids = read().containers.map(({ id }) => id);
    expect([ids.length, ids.filter((id) => former.includes(id))]).toEqual([2, []]);
  });

  it('ends no old process when a new one does not become healthy; repeated, it replaces all', () => {
    const { replace, read, change, versions } = engineOf([['old', 3]]);
    change({ isBad: true });
    expect(replace().status).toBe(1);
    expect(versions()).toEqual([...many(3, 'old healthy'), 'new unhealthy']);
    change({ isBad: false });
    expect(replace().status).toBe(0);
    expect(versions()).toEqual(many(3, 'new healthy'));
    expect(read()).toMatchObject({ fewest: 3, most: 4 });
  });

  it('goes the way back from there, and removes what never became healthy', () => {
    const { replace, read, change, versions } = engineOf([['old', 3]]);
    change({ isBad: true });
    replace();
    change({ isBad: false, version: 'old' });
    expect(replace().status).toBe(0);
    expect(versions()).toEqual(many(3, 'old healthy'));
    expect(read().fewest).toBe(3);
  });

  it('goes on wherever it was interrupted, and as many serve in the end', () => {
    const whole = engineOf([['old', 2]]);
    whole.replace();
    const { calls } = whole.read();
    expect(calls).toBeGreaterThanOrEqual(10);
    for (let breaksAt = 1; breaksAt <= calls; breaksAt += 1) {
      const { replace, read, change, versions } = engineOf([['old', 2]]);
      change({ breaksAt });
      expect([breaksAt, replace().status]).toEqual([breaksAt, 130]);
      expect([breaksAt, replace().status]).toEqual([breaksAt, 0]);
      expect([breaksAt, versions()]).toEqual([breaksAt, many(2, 'new healthy')]);
      expect(read()).toMatchObject({ fewest: 2, most: 3 });
    }
  });

  it('replaces one that is not healthy, too, when it is repeated', () => {
    const { replace, read, versions } = engineOf([
      ['old', 2],
      ['old', 1, 'unhealthy'],
    ]);
    expect(replace().status).toBe(1);
    expect(replace().status).toBe(0);
    expect(versions()).toEqual(many(3, 'new healthy'));
    expect(read().fewest).toBe(2);
  });

  it('is called through a link, too', () => {
    const { replace, versions } = engineOf([['old', 2]]);
    expect(replace('replace')).toMatchObject({ status: 0, stderr: '' });
    expect(versions()).toEqual(many(2, 'new healthy'));
  });

  it.each([
    ['no process runs', [] as [string, number, string?][]],
    ['no process is healthy', [['old', 2, 'unhealthy'] as [string, number, string?]]],
  ])('says so, and changes nothing, where %s', (words, running) => {
    const { replace, versions } = engineOf(running);
    const before = versions();
    const { status, stderr } = replace();
    expect([status, stderr]).toEqual([1, expect.stringContaining(`api: ${words}`)]);
    expect(versions()).toEqual(before);
  });

  it('lets the gateway close a connection to an api before it does, and none that a client keeps', () => {
    const gateway = readFileSync('deploy/gateway/nginx.conf', 'utf8');
    const idle = Number(/^ {4}keepalive_timeout (\d+)ms;$/m.exec(gateway)?.[1]);
    const [, linger = ''] = /^const LINGER = ([\d_]+);$/m.exec(readFileSync('src/app/api.ts', 'utf8')) ?? [];
    expect(idle).toBeLessThanOrEqual(Number(linger.replaceAll('_', '')) / 2);
    // And none that a client keeps, when it reads its file anew.
    expect(gateway).toMatch(/^ {4}keepalive_min_timeout \ds;$/m);
  });
});

// deploy/replace.sh, with a stand-in for the engine: however many processes run, never fewer than before serve. The
// deployment driver does the same with Docker, under load.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../app/local/temporary-folder.ts';

type Container = { id: string; version: string; health: string };
type Engine = { containers: Container[]; version: string; made: number; fewest: number; most: number };

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
    Array.from({ length: count }, (_, n) => ({ id: `c${index}${n}`, version: of, health })),
  );
  const fewest = containers.filter(({ health }) => health === 'healthy').length;
  const set = (engine: object) => writeFileSync(file, JSON.stringify(engine));
  set({ containers, version, made: 100, fewest, most: containers.length });
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
  it.each([1, 2, 3, 4, 7])('replaces %i processes, and never do fewer serve', (count) => {
    const { replace, read, versions } = engineOf([['old', count]]);
    expect(replace()).toMatchObject({ status: 0, stderr: '' });
    expect(versions()).toEqual(many(count, 'new healthy'));
    expect(read()).toMatchObject({ fewest: count, most: 2 * count });
  });

  it('ends no old process when a new one does not become healthy; repeated, it replaces all', () => {
    const { replace, read, change, versions } = engineOf([['old', 3]]);
    change({ isBad: true });
    expect(replace().status).toBe(1);
    expect(versions()).toEqual([...many(3, 'old healthy'), ...many(3, 'new unhealthy')]);
    change({ isBad: false });
    expect(replace().status).toBe(0);
    expect(versions()).toEqual(many(3, 'new healthy'));
    expect(read().fewest).toBe(3);
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

  it.each([
    ['before the old ones ended', [['old', 4] as [string, number], ['new', 4] as [string, number]], 4],
    ['while they ended', [['old', 1] as [string, number], ['new', 4] as [string, number]], 4],
    ['while the new ones started', [['old', 4] as [string, number], ['new', 1] as [string, number]], 4],
  ])('goes on when it was stopped %s', (_when, running, count) => {
    const { replace, read, versions } = engineOf(running);
    expect(replace().status).toBe(0);
    expect(versions()).toEqual(many(count, 'new healthy'));
    expect(read().fewest).toBeGreaterThanOrEqual(count);
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
});

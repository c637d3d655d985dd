// What `npm run bench` says and judges without measuring.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from './temporary-folder.ts';

const bench = (...words: string[]) =>
  spawnSync(process.execPath, ['bench/bench.mjs', ...words], { encoding: 'utf8' });

describe('npm run bench', () => {
  it('names every scenario when it is asked for none', () => {
    const { stdout, status } = bench();
    expect(status).toBe(0);
    for (const name of ['tokens', 'refresh', 'introspection', 'challenges', 'deliveries', 'challenge-expiry'])
      expect(stdout).toContain(`\n  ${name} `);
    for (const name of ['sizes', 'all', 'guard', 'compare']) expect(stdout).toContain(`\n  ${name} `);
    for (const name of ['healthy', 'flaky', 'away', 'noisy', 'crash']) expect(stdout).toContain(` ${name} `);
  });

  it.each([['walk'], ['deliveries', '--scenario', 'walk'], ['tokens', '--seconds', '0'], ['compare', 'one']])(
    'refuses %s %s %s before it builds anything',
    (...words) => {
      const { stderr, status } = bench(...words);
      expect(status).toBe(2);
      expect(stderr.trim().split('\n')).toHaveLength(1);
    },
  );

  it('compares the medians of two files, of one run and of three', () => {
    const folder = temporaryFolder();
    const [before, after] = [join(folder, 'before.json'), join(folder, 'after.json')];
    writeFileSync(before, JSON.stringify({ service: { rate: 100 }, workflows: ['a'] }));
    const runs = [300, 200, 900].map((rate) => ({ service: { rate } }));
    writeFileSync(after, JSON.stringify({ runs }));
    const { stdout } = bench('compare', before, after, '--json');
    expect(JSON.parse(stdout)).toEqual([
      { name: 'service.rate', values: [[100], [300, 200, 900]], medians: [100, 300], ratio: 3 },
    ]);
  });
});

describe('the guard', () => {
  const judge = (token: number[]) => {
    const figures = {
      token: { ratios: token, most: 2 },
      delivery: { ratios: [1, 1, 1], most: 2 },
    };
    const file = join(temporaryFolder(), 'guard');
    const code = `import { reportGuard } from '${resolve('bench/verdict.mjs')}';
      process.stdout.write(JSON.stringify(reportGuard(${JSON.stringify(figures)})));`;
    const report = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' });
    writeFileSync(file, report.stdout);
    const { failed } = JSON.parse(report.stdout) as { failed: unknown[] };
    const args = ['scripts/count.mjs', '0', file, failed.length > 0 ? '1' : '0'];
    return spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout.trim().split('\n').at(-1);
  };

  it('is counted as one case', () => {
    expect(judge([1.9, 1.9, 1.9])).toBe('2 passed, 0 failed');
    expect(judge([2.1, 2.2, 2.3])).toBe('1 passed, 1 failed');
  });

  it('is decided by three tries that agree', () => {
    expect(judge([4, 1.9, 2, 3, 1])).toBe('2 passed, 0 failed');
    expect(judge([1.9, 2.1, 2.1, 1.8, 2.2])).toBe('1 passed, 1 failed');
  });
});

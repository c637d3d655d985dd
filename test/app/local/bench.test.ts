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
    const code = `import { reportGuard } from '${resolve('bench/verdict.mjs')}';
      process.stdout.write(JSON.stringify(reportGuard(${JSON.stringify(figures)})));`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' });
    const { passed, failed } = JSON.parse(stdout) as { passed: number; failed: unknown[] };
    return [passed, failed.length];
  };

  it('is counted as one case', () => {
    expect(judge([1.9, 1.9, 1.9])).toEqual([1, 0]);
    expect(judge([2.1, 2.2, 2.3])).toEqual([0, 1]);
  });

  it('is decided by three tries that agree', () => {
    expect(judge([4, 1.9, 2, 3, 1])).toEqual([1, 0]);
    expect(judge([1.9, 2.1, 2.1, 1.8, 2.2])).toEqual([0, 1]);
  });
});

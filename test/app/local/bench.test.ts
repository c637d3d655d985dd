// What `npm run bench` says and judges without measuring.
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const bench = (...words: string[]) =>
  spawnSync(process.execPath, ['bench/bench.mjs', ...words], { encoding: 'utf8' });

describe('npm run bench', () => {
  it('names every scenario when it is asked for none', () => {
    const { stdout, status } = bench();
    expect(status).toBe(0);
    for (const name of ['tokens', 'refresh', 'introspection', 'challenges', 'deliveries', 'soak'])
      expect(stdout).toContain(`\n  ${name} `);
    for (const name of ['abuse', 'guard', 'compare']) expect(stdout).toContain(`\n  ${name} `);
    for (const name of ['healthy', 'flaky', 'away', 'noisy']) expect(stdout).toContain(` ${name} `);
  });

  it.each([['walk'], ['deliveries', '--scenario', 'walk'], ['tokens', '--seconds', '0'], ['compare', 'one']])(
    'refuses %s %s %s before it builds anything',
    (...words) => {
      const { stderr, status } = bench(...words);
      expect(status).toBe(2);
      expect(stderr.trim().split('\n')).toHaveLength(1);
    },
  );
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

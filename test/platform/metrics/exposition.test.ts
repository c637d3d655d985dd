// Putting two texts of metrics together, whatever they hold.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { familiesOf, mergeExpositions } from '../../../src/platform/metrics/exposition.ts';

const OURS = `# HELP ours_total Things of ours.
# TYPE ours_total counter
ours_total{a="x"} 1

# HELP shared Of both.
# TYPE shared gauge
shared 1
`;
const THEIRS = `# HELP shared Of both.
# TYPE shared gauge
shared 2
# HELP theirs_seconds A histogram.
# TYPE theirs_seconds histogram
theirs_seconds_bucket{le="+Inf"} 3
theirs_seconds_sum 1.5
theirs_seconds_count 3
`;

const commentsOf = (text: string) => text.split('\n').filter((line) => line.startsWith('# TYPE'));

describe('two texts of metrics together', () => {
  it('have every family once, the first text whole, and a histogram in one piece', () => {
    const merged = mergeExpositions(OURS, THEIRS);
    expect(merged.startsWith(OURS)).toBe(true);
    expect(commentsOf(merged)).toEqual([
      '# TYPE ours_total counter',
      '# TYPE shared gauge',
      '# TYPE theirs_seconds histogram',
    ]);
    expect(merged).toContain('shared 1\n');
    expect(merged).not.toContain('shared 2');
    expect(merged.endsWith('theirs_seconds_sum 1.5\ntheirs_seconds_count 3\n')).toBe(true);
  });

  it('are the first when there is no second, and end with a line feed in any case', () => {
    expect(mergeExpositions(OURS, '')).toBe(OURS);
    expect(mergeExpositions('a 1', 'b 2')).toBe('a 1\nb 2\n');
    expect(mergeExpositions('', 'b 2')).toBe('b 2\n');
  });

  it('put the samples of a family together that come in several places', () => {
    const text = '# TYPE a counter\na{x="1"} 1\n# TYPE b counter\nb 1\n# TYPE a counter\na{x="2"} 1\n';
    expect(mergeExpositions('', text)).toBe(
      '# TYPE a counter\na{x="1"} 1\na{x="2"} 1\n# TYPE b counter\nb 1\n',
    );
  });

  it('say nothing twice, whatever the two of them hold', () => {
    const name = fc.constantFrom('a', 'b_total', 'c_seconds', 'd_seconds_bucket', 'e');
    const family = fc
      .tuple(name, fc.integer({ min: 0, max: 9 }))
      .map(
        ([metric, value]) => `# HELP ${metric} x\n# TYPE ${metric} gauge\n${metric}{l="${value}"} ${value}`,
      );
    const text = fc
      .uniqueArray(family, { selector: (one) => one.split(' ')[2] })
      .map((families) => families.map((one) => `${one}\n`).join(''));
    fc.assert(
      fc.property(text, text, (first, second) => {
        const merged = mergeExpositions(first, second);
        const comments = commentsOf(merged);
        expect(new Set(comments).size).toBe(comments.length);
        expect(merged.startsWith(first)).toBe(true);
        const names = (of: string) => new Set(familiesOf(of).map((one) => one.name));
        expect(names(merged)).toEqual(new Set([...names(first), ...names(second)]));
      }),
    );
  });
});

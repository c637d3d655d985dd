// Holds docs/operations/metrics.md against what the processes tell: every metric of ours with its type and labels, and
// none that is not there.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { VERSION } from '../../../src/platform/version.ts';
import { listMetrics } from './registries.ts';

const ROW = /^\| `(\w+)` \| (\w+) \|([^|]*)\|([^|]+)\|([^|]*)\|$/gm;

const rows = [...readFileSync('docs/operations/metrics.md', 'utf8').matchAll(ROW)].map(
  ([, name = '', type = '', labels = '', meaning = '']) => ({
    name,
    type,
    labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label ?? '').sort(),
    meaning: meaning.trim(),
  }),
);

const { api, worker, sdk: theirs } = await listMetrics();
const ours = new Map([...api, ...worker].filter(([name]) => name.startsWith('countersign_')));
const sdk = theirs;

describe('the page of metrics', () => {
  it('has each of ours once, with its type and labels', () => {
    const documented = rows
      .filter(({ name }) => name.startsWith('countersign_'))
      .map(({ name, type, labels }) => ({ name, type, labels }));
    const told = [...ours].map(([name, { type, labels }]) => ({ name, type, labels: [...labels].sort() }));
    const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);
    expect(documented.sort(byName)).toEqual(told.sort(byName));
    expect(rows.every(({ meaning }) => meaning !== '')).toBe(true);
  });

  it("names of the SDK's only those that there are, with labels that they have", () => {
    const theirs = rows.filter(({ name }) => name.startsWith('temporal_'));
    expect(theirs.length).toBeGreaterThan(5);
    for (const { name, type, labels } of theirs) {
      expect(sdk.get(name)?.type, name).toBe(type);
      expect(
        labels.filter((label) => !sdk.get(name)?.labels.includes(label)),
        name,
      ).toEqual([]);
    }
  });
});

it('the release that metrics and --version tell is the package’s', () => {
  expect(VERSION).toBe(JSON.parse(readFileSync('package.json', 'utf8')).version);
});

// Holds docs/settings.md against the schema of the settings.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { describeSettings } from '../../../src/platform/config-page.ts';
import { CONFIG_VARIABLES, schema } from '../../../src/platform/config-variables.ts';

describe('docs/settings.md', () => {
  it('is what the schema says; after a change of a setting: npm run settings', () =>
    expect(readFileSync('docs/settings.md', 'utf8')).toBe(describeSettings()));

  it('has every variable once', () => {
    const named = [...describeSettings().matchAll(/^- `(\w+)`/gm)].map(([, name]) => name);
    expect(named.sort()).toEqual([...CONFIG_VARIABLES].sort());
  });

  it.each(Object.entries(schema.shape))('%s says what it means', (_, type) =>
    expect(type.meta()?.description).toMatch(/\S/),
  );

  it('has lines of at most 120 characters', () =>
    expect(
      describeSettings()
        .split('\n')
        .filter((line) => line.length > 120),
    ).toEqual([]));
});

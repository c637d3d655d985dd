// Holds openapi.json in the repository against the route table, so that a change of a route shows the change of the
// interface.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { composeOpenApi } from '../../../src/app/wiring/api.ts';

it('is what the routes say; after a change of a route: npm run openapi', () => {
  const written = JSON.parse(readFileSync('openapi.json', 'utf8'));
  expect(JSON.parse(JSON.stringify(composeOpenApi({})))).toEqual(written);
});

it('holds only patterns that other dialects of regular expressions know', () => {
  const patterns = [
    ...readFileSync('openapi.json', 'utf8').matchAll(/"pattern": ("(?:[^"\\\\]|\\\\.)*")/g),
  ].map(([, text]) => JSON.parse(text ?? '') as string);
  expect(patterns.length).toBeGreaterThan(5);
  for (const pattern of patterns) {
    expect(() => new RegExp(pattern, 'u'), pattern).not.toThrow();
    expect(pattern).not.toMatch(/\\[pPkKuc]|\(\?[^:=!]/);
  }
});

// Every line of the log has a stable name, and the operators' page lists exactly these names.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const PAGE = 'docs/operations/log-events.md';
const CALL = /\b(?:log|logger)(?:\.(?:debug|info|warn|error|fatal)|\[[^\]]+\])\(\s*/g;

const texts = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => [file, readFileSync(join('src', file), 'utf8')] as const);
const calls = texts.flatMap(([file, text]) =>
  [...text.matchAll(CALL)].map(({ index, 0: { length } }) => ({
    file,
    event: /^\{\s*event: '([a-z_]+\.[a-z_]+)'/.exec(text.slice(index + length))?.[1],
  })),
);

it('names each line by an event', () => {
  expect(calls.length).toBeGreaterThan(25);
  expect(calls.filter(({ event }) => event === undefined)).toEqual([]);
});

it('lists each event on the page of the operators, by name', () => {
  const listed = [...readFileSync(PAGE, 'utf8').matchAll(/^\| `([a-z_]+\.[a-z_]+)` \|/gm)].map(
    ([, event]) => event,
  );
  expect(listed).toEqual([...new Set(calls.map(({ event }) => event))].sort());
});

// The drawing of folders in docs/architecture.md: each name is there, and no room is left out.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const ROOT = new URL('../../', import.meta.url);
const [, house = ''] = readFileSync(new URL('docs/architecture.md', ROOT), 'utf8').split('## The house');
const [, drawing = ''] = house.split('```');

/** Reads the names that begin the lines, and the files that descriptions name. @returns paths from the root */
function readDrawing(): string[] {
  const paths: string[] = [];
  const parents: string[] = [];
  for (const line of drawing.split('\n').filter((text) => text.trim() !== '')) {
    const depth = (line.length - line.trimStart().length) / 2;
    const parent = parents.slice(0, depth).join('');
    const words = line
      .trim()
      .split(/^(\S+) | {2,}/)
      .filter(Boolean);
    const end = words.findIndex((word) => !/^[\w.-]+(\/|\.ts)$/.test(word.trim()));
    const names = (end < 0 ? words : words.slice(0, end)).map((word) => word.trim());
    const [first = ''] = names;
    parents[depth] = first;
    paths.push(...names.map((name) => parent + name));
    const folder = first.endsWith('/') ? parent + first : parent;
    for (const [file] of words
      .slice(names.length)
      .join(' ')
      .matchAll(/[\w/.-]+\.ts\b/g))
      paths.push(folder + file);
  }
  return paths;
}

const listFolders = (folder: string): string[] =>
  readdirSync(new URL(folder, ROOT), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `${folder}${name}/`);

it('the drawing names only what is there', () => {
  const paths = readDrawing();
  expect(paths.length).toBeGreaterThan(50);
  expect(paths.filter((path) => !existsSync(new URL(path, ROOT)))).toEqual([]);
});

it('the drawing has each wing, each room and each package', () => {
  const wings = listFolders('src/');
  const rooms = [...wings, ...wings.flatMap(listFolders), ...listFolders('packages/')];
  const drawn = readDrawing();
  expect(rooms.filter((room) => !drawn.includes(room))).toEqual([]);
});

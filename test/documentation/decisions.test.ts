// Decisions: the form of their status, both ends of a replacement, and the files that follow them.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const FOLDER = 'docs/decisions';
const LINK = '\\[(\\d+)\\]\\((\\d{4}-[a-z-]+\\.md)\\)';
const STATUS = new RegExp(
  `^\\d{4}-\\d\\d-\\d\\d · (?:accepted|replaced by ${LINK})(?: · (?:replaces|changes|changed by) ${LINK})*$`,
);
/** What the other page says. */
const OTHER_END = new Map([
  ['replaced by', 'replaces'],
  ['replaces', 'replaced by'],
  ['changed by', 'changes'],
  ['changes', 'changed by'],
]);
/** `// docs/decisions/0005-write-coalescing.md`, in the opening comment of a file. */
const FOLLOWED = /^\/\/ (docs\/decisions\/\S+)$/gm;

const pages = readdirSync(FOLDER).sort();
const read = (page: string) => readFileSync(`${FOLDER}/${page}`, 'utf8');
const statusOf = (page: string) => read(page).split('\n')[2] ?? '';
// A build that runs beside makes folders in those of the packages, and takes them away.
const packages = readdirSync('packages')
  .map((name) => `packages/${name}/src`)
  .filter((folder) => existsSync(folder));
const sources = ['src', 'workflows', 'activities', ...packages, 'test'].flatMap((root) =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${root}/${name}`),
);
const followed = sources.flatMap((file) =>
  [...readFileSync(file, 'utf8').matchAll(FOLLOWED)].map(([, page = '']) => ({ file, page })),
);

it.each([
  ['2026-11-23, accepted.', false],
  ['2026-11-22 · accepted, replaces the two pools of before', false],
  ['2026-11-25 · accepted · replaces [4](0004-local-stack.md)', true],
])('the form of a status refuses what others could not read: %s', (status, isRight) => {
  expect(STATUS.test(status)).toBe(isRight);
});

it('a decision has its number as its title, a date and a status in one form', () => {
  const wrong = pages.filter(
    (page) => !read(page).startsWith(`# ${Number(page.slice(0, 4))}. `) || !STATUS.test(statusOf(page)),
  );
  expect(wrong).toEqual([]);
});

it('a decision that replaces or changes another is named there, and the other way round', () => {
  const ends = pages.flatMap((page) =>
    [...statusOf(page).matchAll(new RegExp(`(replaced by|replaces|changed by|changes) ${LINK}`, 'g'))].map(
      ([, verb = '', number, to = '']) => ({ page, verb, number, to }),
    ),
  );
  expect(ends.length).toBeGreaterThan(3);
  for (const { page, verb, number, to } of ends) {
    expect(Number(to.slice(0, 4)), page).toBe(Number(number));
    expect(statusOf(to), page).toContain(`${OTHER_END.get(verb)} [${Number(page.slice(0, 4))}](${page})`);
  }
});

it('the table of the architecture lists each decision, and no other', () => {
  const listed = readFileSync('docs/architecture.md', 'utf8').matchAll(/^\| \[\d+\]\(decisions\/([^)]+)\)/gm);
  expect([...listed].map(([, page]) => page)).toEqual(pages);
});

it('each decision that holds is followed by a file that names it, and no file names one that does not', () => {
  expect(followed.filter(({ page }) => !existsSync(page))).toEqual([]);
  const holding = pages.filter((page) => !/· replaced by/.test(statusOf(page)));
  expect(holding.filter((page) => !followed.some((link) => link.page === `${FOLDER}/${page}`))).toEqual([]);
  expect(followed.filter(({ page }) => !holding.includes(page.slice(FOLDER.length + 1)))).toEqual([]);
});

// Writes the guides and the API reference as static pages: `/docs/agents` is `docs/agents.html`; `%BASE%`, `%URL%` and
// `%ORIGIN%` in them stand for the path, the address and the origin of a tenant.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { writeWithForms } from './console.mjs';
import { GUIDES, OPERATIONS, pathOfGuide } from './reference/guide-list.mjs';
import { renderGuides } from './reference/guides.mjs';
import { renderPages } from './reference/pages.mjs';

const DOCS = join(import.meta.dirname, '..', 'docs');

/**
 * @param {string} outDir gets a file for each page, `docs/assets`, and `guides.json`: name, title and subject of each
 * @param {{ document: object, errors: object[], advice: object }} described the OpenAPI document, and the error codes
 */
export function buildReference(outDir, described) {
  for (const folder of ['assets', `guides/${OPERATIONS}`])
    mkdirSync(join(outDir, 'docs', folder), { recursive: true });
  const [style, script] = ['css', 'js'].map((kind) => {
    const content = readFileSync(join(import.meta.dirname, 'reference', `docs.${kind}`));
    const hash = createHash('sha256').update(content).digest('hex').slice(0, 10);
    const path = `/docs/assets/docs-${hash}.${kind}`;
    writeWithForms(join(outDir, path), content);
    return path;
  });
  const guides = renderGuides(readGuides());
  for (const [path, text] of renderPages({ ...described, guides }, { style, script }))
    writeFileSync(join(outDir, dirname(path), `${basename(path) || 'index'}.html`), text);
  for (const { name, markdown } of guides) writeFileSync(join(outDir, `${pathOfGuide(name)}.md`), markdown);
  writeFileSync(join(outDir, `${pathOfGuide()}.md`), listGuides());
  writeFileSync(join(outDir, 'guides.json'), JSON.stringify(GUIDES));
}

/** The pages that are served, by name. */
function readGuides() {
  const runbooks = readdirSync(join(DOCS, OPERATIONS)).filter((file) => file.endsWith('.md'));
  const names = [
    ...GUIDES.map(({ name }) => name),
    ...runbooks.map((file) => `${OPERATIONS}/${basename(file, '.md')}`),
  ];
  return new Map(names.map((name) => [name, readFileSync(join(DOCS, `${name}.md`), 'utf8')]));
}

const listGuides = () =>
  `# Guides\n\n${GUIDES.map(({ name, title, about }) => `- [${title}](%URL%${pathOfGuide(name)}.md): ${about}\n`).join('')}`;

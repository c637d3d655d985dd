// Writes the API reference as static pages: `/docs/agents` is `docs/agents.html`; `%BASE%` and `%URL%` in them stand
// for the path and the address of a tenant.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { writeWithForms } from './console.mjs';
import { renderPages } from './reference/pages.mjs';

/**
 * @param {string} outDir gets a file for each page, and `docs/assets`
 * @param {{ document: object, errors: object[], advice: object }} described the OpenAPI document, and the error codes
 */
export function buildReference(outDir, described) {
  mkdirSync(join(outDir, 'docs', 'assets'), { recursive: true });
  const [style, script] = ['css', 'js'].map((kind) => {
    const content = readFileSync(join(import.meta.dirname, 'reference', `docs.${kind}`));
    const hash = createHash('sha256').update(content).digest('hex').slice(0, 10);
    const path = `/docs/assets/docs-${hash}.${kind}`;
    writeWithForms(join(outDir, path), content);
    return path;
  });
  for (const [path, text] of renderPages(described, { style, script }))
    writeFileSync(join(outDir, dirname(path), `${basename(path) || 'index'}.html`), text);
}

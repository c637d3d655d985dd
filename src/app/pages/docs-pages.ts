// The API reference of a tenant: pages rendered from the OpenAPI document, when they are first asked for.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createBoundedCache } from '../../platform/bounded-cache.ts';
import { createDocument, type Document } from '../../platform/http/document.ts';
import type { FindPage, Page } from '../../platform/http/pages.ts';
import { escapeHtml } from './docs/html.ts';
import { type ApiDocument, renderPages } from './docs/pages.ts';
import { ASSET_HEADERS, PAGE_HEADERS } from './page-headers.ts';

const TYPES = { css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8' } as const;
const HTML = 'text/html; charset=utf-8';

/** @param describe makes the OpenAPI document, once */
export function findDocsPages(describe: () => object): FindPage {
  const files = (['css', 'js'] as const).map((kind) => readAsset(kind));
  const assets = new Map<string, Page>(files.map(({ path, page }) => [path, page]));
  const [style = '', script = ''] = files.map(({ path }) => path);
  const rendered = lazily(() => renderPages(describe() as ApiDocument, { style, script }));
  // Compressed once for each tenant that reads it.
  const kept = createBoundedCache<Document>({ limit: 300 });
  return ({ path, tenant, accept = '' }) => {
    const asset = assets.get(path);
    if (asset !== undefined) return asset;
    const { baseUrl } = tenant;
    const base = new URL(baseUrl).pathname.replace(/\/$/, '');
    const make = (text: string, escaped: (part: string) => string) =>
      createDocument(text.replaceAll('%BASE%', escaped(base)).replaceAll('%URL%', escaped(baseUrl)));
    if (path === '/' && !accept.includes('text/html')) {
      const document = kept.get(`${baseUrl} json`, () => createDocument(JSON.stringify(linksOf(baseUrl))));
      return {
        document,
        type: 'application/json',
        headers: PAGE_HEADERS,
        operation: '/',
      };
    }
    if (path !== '/' && path !== '/docs' && !path.startsWith('/docs/')) return undefined;
    const text = rendered().get(path);
    if (text === undefined) return undefined;
    const document = kept.get(`${baseUrl} ${path}`, () => make(text, escapeHtml));
    return { document, type: HTML, headers: PAGE_HEADERS, operation: path === '/' ? '/' : 'docs' };
  };
}

/** What is at a tenant's address, for programs. */
function linksOf(baseUrl: string): Readonly<Record<string, string>> {
  return {
    console: `${baseUrl}/console`,
    docs: `${baseUrl}/docs`,
    openapi: `${new URL(baseUrl).origin}/openapi.json`,
    authorization_server: `${baseUrl}/.well-known/oauth-authorization-server`,
    jwks: `${baseUrl}/.well-known/jwks.json`,
  };
}

function readAsset(kind: keyof typeof TYPES): { path: string; page: Page } {
  const content = readFileSync(join(import.meta.dirname, 'docs', `docs.${kind}`));
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 10);
  const page = {
    document: createDocument(content),
    type: TYPES[kind],
    headers: ASSET_HEADERS,
    operation: 'docs',
  };
  return { path: `/docs/assets/docs-${hash}.${kind}`, page };
}

function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

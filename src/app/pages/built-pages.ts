// The console, the guides and the API reference: pages and assets from the folders that the build has made. They are
// read once and found by name in memory, so that no path of a request reaches the disk.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { createBoundedCache } from '../../platform/bounded-cache.ts';
import { createDocument } from '../../platform/http/document.ts';
import type { Guide } from '../../platform/http/llms-text.ts';
import type { FindPage, Page, PageRequest } from '../../platform/http/pages.ts';

/** A page loads scripts, styles and data of its own origin only; nothing inline, nothing in a frame. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const PAGE_HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
} as const;

/** The guides and the reference say the same to everybody; a cache asks whether they have changed. */
const DOCS_HEADERS = { ...PAGE_HEADERS, 'cache-control': 'no-cache' } as const;

/** For a guide, which is HTML or Markdown by `Accept`, and which scripts of any origin may read. */
const GUIDE_HEADERS = { ...DOCS_HEADERS, vary: 'accept', 'access-control-allow-origin': '*' } as const;

/** For a file whose name changes with its content. */
const ASSET_HEADERS = { 'cache-control': 'public, max-age=31536000, immutable' } as const;

const HTML = 'text/html; charset=utf-8';
const MARKDOWN = 'text/markdown; charset=utf-8';
const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

const GUIDES = '/docs/guides';

/** Routes of sessions, which are no pages. */
const ROUTES = new Set(['/console/session', '/console/token']);

/** The addresses of pages of the console: words and ids, in a depth that the console has. */
const PAGE = /^\/console(?:\/[\w.~:-]{1,200}){0,6}\/?$/;

/** @param folder with index.html and `assets`; a folder that does not exist has no console */
export function findConsolePages(folder: string): FindPage {
  const html = readOptional(join(folder, 'index.html'));
  if (html === undefined) return () => undefined;
  const assets = readAssets(join(folder, 'assets'), 'console asset');
  const fillIn = createFilling();
  return ({ path, tenant }) => {
    if (path.startsWith('/console/assets/')) return assets.get(path.slice('/console/assets/'.length));
    if (!PAGE.test(path) || ROUTES.has(path)) return undefined;
    return fillIn('/console', { text: html, tenant, operation: 'console', headers: PAGE_HEADERS });
  };
}

/**
 * The guides, as HTML for browsers and otherwise as Markdown, and the API reference.
 * @param folder with `/docs/agents` as docs/agents.html, and `docs/assets`; without it only `/` is there, as JSON
 */
export function findReferencePages(folder: string): FindPage {
  const docs = join(folder, 'docs');
  const pages = new Map([
    ['/', readOptional(join(folder, 'index.html'))],
    ['/docs', readOptional(join(folder, 'docs.html'))],
    ...readTexts(docs).map(([name, text]) => [`/docs/${name.replace(/\.html$/, '')}`, text] as const),
  ]);
  const assets = readAssets(join(docs, 'assets'), 'docs');
  const fillIn = createFilling();
  return ({ path: asked, tenant, accept = '' }) => {
    if (asked.startsWith('/docs/assets/')) return assets.get(asked.slice('/docs/assets/'.length));
    const isForBrowser = accept.includes('text/html');
    if (asked === '/' && !isForBrowser) return listLinks(tenant);
    const path = asked === `${GUIDES}/` ? GUIDES : asked;
    const isGuide = path === GUIDES || path.startsWith(`${GUIDES}/`);
    const markdown = isGuide && !isForBrowser ? pages.get(`${path}.md`) : undefined;
    const text = markdown ?? pages.get(path);
    const operation = path === '/' ? '/' : 'docs';
    const headers = isGuide ? GUIDE_HEADERS : DOCS_HEADERS;
    return text && fillIn(markdown ? `${path}.md` : path, { text, tenant, operation, headers });
  };
}

/** The guides that the build has made, for those who list them. */
export function listGuides(folder: string): readonly Guide[] {
  const list = readOptional(join(folder, 'guides.json'));
  return list === undefined ? [] : JSON.parse(String(list));
}

/** Pages of a folder and of those below it, by name. */
function readTexts(folder: string): (readonly [name: string, text: Buffer])[] {
  const names = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : [];
  const pages = names.filter((name) => ['.html', '.md'].includes(extname(name)));
  return pages.map((name) => [name, readFileSync(join(folder, name))]);
}

/** What is at a tenant's address, for programs. */
function listLinks({ baseUrl }: PageRequest['tenant']): Page {
  const links = {
    console: `${baseUrl}/console`,
    docs: `${baseUrl}/docs`,
    guides: `${baseUrl}${GUIDES}`,
    openapi: `${new URL(baseUrl).origin}/openapi.json`,
    authorization_server: `${baseUrl}/.well-known/oauth-authorization-server`,
    jwks: `${baseUrl}/.well-known/jwks.json`,
  };
  const document = createDocument(JSON.stringify(links));
  return { document, type: 'application/json', headers: PAGE_HEADERS, operation: '/' };
}

/** Puts a tenant's addresses into pages. A page is compressed once for each tenant that reads it. */
function createFilling() {
  const pages = createBoundedCache<Page>({ limit: 300 });
  const escapeText = (text: string) => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
  type Filled = { text: Buffer; tenant: PageRequest['tenant'] } & Pick<Page, 'operation' | 'headers'>;
  return (path: string, { text, tenant: { baseUrl }, operation, headers }: Filled): Page =>
    pages.get(`${baseUrl} ${path}`, () => {
      const { pathname, origin } = new URL(baseUrl);
      const isMarkdown = path.endsWith('.md');
      const write = isMarkdown ? (value: string) => value : escapeText;
      const filled = String(text)
        .replaceAll('%BASE%', write(pathname.replace(/\/$/, '')))
        .replaceAll('%ORIGIN%', write(origin))
        .replaceAll('%URL%', write(baseUrl));
      const type = isMarkdown ? MARKDOWN : HTML;
      return { document: createDocument(filled), type, headers, operation };
    });
}

function readAssets(folder: string, operation: string): ReadonlyMap<string, Page> {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return new Map(
    names.flatMap((name) => {
      const type = TYPES[extname(name)];
      return type === undefined ? [] : [[name, readAsset(join(folder, name), type, operation)] as const];
    }),
  );
}

function readAsset(file: string, type: string, operation: string): Page {
  const ready = { br: readOptional(`${file}.br`), gzip: readOptional(`${file}.gz`) };
  return { document: createDocument(readFileSync(file), ready), type, headers: ASSET_HEADERS, operation };
}

const readOptional = (file: string) => (existsSync(file) ? readFileSync(file) : undefined);

// The page of the console and its assets, from the folder that the build has made.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { createBoundedCache } from '../../platform/bounded-cache.ts';
import { createDocument } from '../../platform/http/document.ts';
import type { FindPage, Page } from '../../platform/http/pages.ts';
import { ASSET_HEADERS, PAGE_HEADERS } from './page-headers.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/** Routes of sessions, which are no pages. */
const ROUTES = new Set(['/console/session', '/console/token']);

/** The addresses of pages of the console: words and ids, in a depth that the console has. */
const PAGE = /^\/console(?:\/[\w.~:-]{1,200}){0,6}\/?$/;

/**
 * Reads the console once. Its files are found by name in memory, so that no path of a request reaches the disk.
 * @param folder with index.html and `assets`; a folder that does not exist has no console
 */
export function findConsolePages(folder: string): FindPage {
  if (!existsSync(join(folder, 'index.html'))) return () => undefined;
  const assets = readAssets(join(folder, 'assets'));
  const html = readFileSync(join(folder, 'index.html'), 'utf8');
  const pages = createBoundedCache<Page>({ limit: 100 });
  return ({ path, tenant }) => {
    if (path !== '/console' && !path.startsWith('/console/')) return undefined;
    if (path.startsWith('/console/assets/')) return assets.get(path.slice('/console/assets/'.length));
    if (!PAGE.test(path) || ROUTES.has(path)) return undefined;
    const base = new URL(tenant.baseUrl).pathname.replace(/\/$/, '');
    return pages.get(base, () => ({
      document: createDocument(html.replaceAll('%BASE%', base)),
      type: 'text/html; charset=utf-8',
      headers: PAGE_HEADERS,
      operation: 'console',
    }));
  };
}

function readAssets(folder: string): ReadonlyMap<string, Page> {
  return new Map(
    readdirSync(folder).flatMap((name) => {
      const type = TYPES[extname(name)];
      return type === undefined ? [] : [[name, readAsset(folder, name, type)] as const];
    }),
  );
}

function readAsset(folder: string, name: string, type: string): Page {
  const read = (end: string) => readOptional(join(folder, `${name}${end}`));
  const document = createDocument(readFileSync(join(folder, name)), { br: read('.br'), gzip: read('.gz') });
  return { document, type, headers: ASSET_HEADERS, operation: 'console asset' };
}

function readOptional(file: string): Buffer | undefined {
  return existsSync(file) ? readFileSync(file) : undefined;
}

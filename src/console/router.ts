// Pages by the browser's history: the path after `/console`, and filters in the query.
import { useLayoutEffect, useState } from 'preact/hooks';
import { base } from './session.ts';

const CHANGED = 'console:route';

export interface Route {
  /** The parts of the path after `/console`. */
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

/** @returns the address of a page */
export function pageAddress(path: string): string {
  return `${base}/console${path === '' || path.startsWith('?') ? path : `/${path}`}`;
}

/** Opens a page; `replace` for a change of filters, which is no step back. */
export function open(path: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', pageAddress(path));
  else history.pushState(null, '', pageAddress(path));
  dispatchEvent(new Event(CHANGED));
}

/** @returns where the browser is, also after it went on */
export function useRoute(): Route {
  const [route, setRoute] = useState(readRoute);
  // Not after the first paint: a link may be clicked as soon as the page shows.
  useLayoutEffect(() => {
    const update = (): void => setRoute(readRoute());
    addEventListener('popstate', update);
    addEventListener(CHANGED, update);
    return () => {
      removeEventListener('popstate', update);
      removeEventListener(CHANGED, update);
    };
  }, []);
  return route;
}

/** Sets filters in the address; an empty value removes one. */
export function setFilters(changes: Readonly<Record<string, string>>): void {
  const { parts, query } = readRoute();
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') query.delete(name);
    else query.set(name, value);
  }
  const search = query.toString();
  open(`${parts.join('/')}${search === '' ? '' : `?${search}`}`, { replace: true });
}

/** Follows links between pages without loading the document again. */
export function followLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (link === null || link.target !== '' || link.origin !== location.origin) return;
  if (!`${link.pathname}/`.startsWith(`${base}/console/`) || link.hash !== '') return;
  event.preventDefault();
  history.pushState(null, '', link.href);
  dispatchEvent(new Event(CHANGED));
}

function readRoute(): Route {
  const path = location.pathname.slice(`${base}/console`.length);
  return {
    parts: path.split('/').filter(Boolean).map(decodeURIComponent),
    query: new URLSearchParams(location.search),
  };
}

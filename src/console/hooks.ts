// Loading: what a page shows, kept while it is loaded again, and read again while the page is visible.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, get } from './api.ts';
import type { Page } from './types.ts';

export interface Loaded<T> {
  readonly data: T | undefined;
  readonly error: unknown;
  readonly reload: () => void;
}

/** How soon it is tried again to load what was not loaded. */
const AGAIN_MS = 5_000;

/**
 * @param key names what is loaded; another key forgets the data of the one before, undefined loads nothing
 * @param everyMs how often it is loaded again while the page is visible; 0: not once it is loaded
 */
export function useLoaded<T>(key: string | undefined, load: () => Promise<T>, everyMs = 0): Loaded<T> {
  const [state, setState] = useState<{ key?: string; data?: T; error?: unknown }>({});
  const [turn, setTurn] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    if (key === undefined) return;
    let timer = 0;
    let ended = false;
    const run = async (): Promise<void> => {
      // Not loaded yet: the page is hidden, or what failed may succeed later.
      let nextMs = everyMs || AGAIN_MS;
      if (document.visibilityState === 'visible') {
        try {
          const data = await latest.current();
          nextMs = everyMs;
          if (!ended) setState({ key, data });
        } catch (error) {
          if (!ended) setState((old) => ({ ...(old.key === key && old), key, error }));
          if (!passes(error)) nextMs = everyMs;
        }
      }
      if (!ended && nextMs > 0) timer = window.setTimeout(() => void run(), nextMs);
    };
    void run();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [key, turn, everyMs]);
  const reload = useCallback(() => setTurn((count) => count + 1), []);
  const mine = state.key === key ? state : {};
  return { data: mine.data, error: mine.error, reload };
}

/** Whether the same request may succeed later: the service was not reached, or is busy. */
function passes(error: unknown): boolean {
  return !(error instanceof ApiError) || error.problem.status === 429 || error.problem.status >= 500;
}

/** A list by pages: the first is polled, `more` adds the next ones. */
export function useList<T>(
  path: string | undefined,
  query: Readonly<Record<string, string | number | undefined>> = {},
  everyMs = 0,
): Loaded<readonly T[]> & { readonly more: (() => void) | undefined } {
  const [pages, setPages] = useState(1);
  const key = path === undefined ? undefined : `${path}?${JSON.stringify(query)}`;
  useEffect(() => setPages(1), [key]);
  const loaded = useLoaded<Page<T>>(
    key === undefined ? undefined : `${key} ${pages}`,
    async () => {
      const data: T[] = [];
      let cursor: string | null | undefined;
      for (let page = 0; page < pages && cursor !== null; page += 1) {
        const read: Page<T> = await get(path ?? '', { ...query, cursor });
        data.push(...read.data);
        cursor = read.next_cursor;
      }
      return { data, next_cursor: cursor ?? null };
    },
    everyMs,
  );
  // The rows stay while one page more is loaded.
  const shown = useRef<{ key: string | undefined; page: Page<T> } | undefined>(undefined);
  if (loaded.data !== undefined) shown.current = { key, page: loaded.data };
  const page = shown.current?.key === key ? shown.current?.page : undefined;
  const more = page === undefined || page.next_cursor === null ? undefined : () => setPages(pages + 1);
  return { data: page?.data, error: loaded.error, reload: loaded.reload, more };
}

/** One action at a time: `run` answers whether it was done, and keeps the error for the page. */
export function useAction(): {
  readonly busy: boolean;
  readonly error: unknown;
  readonly run: (action: () => Promise<unknown>) => Promise<boolean>;
} {
  const [state, setState] = useState<{ busy: boolean; error?: unknown }>({ busy: false });
  const run = useCallback(async (action: () => Promise<unknown>): Promise<boolean> => {
    setState({ busy: true });
    try {
      await action();
      setState({ busy: false });
      return true;
    } catch (error) {
      setState({ busy: false, error });
      return false;
    }
  }, []);
  return { ...state, error: state.error, run };
}

// Loading: what a page shows, kept while it is loaded again, and read again while the page is visible.
// `load` returns the same object while nothing has changed, as `get` does.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { get, passes } from './api.ts';
import { poll, touch } from './polling.ts';
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
    let known: T | undefined;
    let ended = false;
    const end = poll(async () => {
      try {
        const data = await latest.current();
        if (ended || data === known) return everyMs;
        if (known !== undefined) touch();
        known = data;
        setState({ key, data });
        return everyMs;
      } catch (error) {
        known = undefined;
        if (!ended) setState((old) => ({ ...(old.key === key && old), key, error }));
        return passes(error) ? everyMs || AGAIN_MS : everyMs;
      }
    });
    return () => {
      ended = true;
      end();
    };
  }, [key, turn, everyMs]);
  const reload = useCallback(() => setTurn((count) => count + 1), []);
  const mine = state.key === key ? state : {};
  return { data: mine.data, error: mine.error, reload };
}

type Fields = Readonly<Record<string, string | number | undefined>>;

interface Kept<T> {
  readonly key: string;
  readonly pages: readonly Page<T>[];
  readonly whole: Page<T>;
  looks: number;
}

/**
 * A list by pages: `more` adds the next one. A look reads one of those that are shown, mostly the first, and all of
 * them when it has changed.
 */
export function useList<T>(
  path: string | undefined,
  query: Fields = {},
  everyMs = 0,
  readPage: (path: string, query: Fields, cursor: string | undefined) => Promise<Page<T>> = readByCursor,
): Loaded<readonly T[]> & { readonly more: (() => void) | undefined } {
  const [pages, setPages] = useState(1);
  const key = path === undefined ? undefined : `${path}?${JSON.stringify(query)}`;
  useEffect(() => setPages(1), [key]);
  const kept = useRef<Kept<T> | undefined>(undefined);
  const wanted = key === undefined ? undefined : `${key} ${pages}`;
  const loaded = useLoaded<Page<T>>(
    wanted,
    async () => {
      const read = (cursor: string | undefined) => readPage(path ?? '', query, cursor);
      const old = kept.current?.key === wanted ? kept.current : undefined;
      if (old !== undefined && (await isSame(old, read))) return old.whole;
      const all = await readAll(read, pages);
      const whole = { data: all.flatMap(({ data }) => data), next_cursor: all.at(-1)?.next_cursor ?? null };
      kept.current = { key: wanted ?? '', pages: all, whole, looks: 0 };
      return whole;
    },
    everyMs,
  );
  const reload = useCallback(() => {
    kept.current = undefined;
    loaded.reload();
  }, [loaded.reload]);
  // The rows stay while one page more is loaded.
  const shown = useRef<{ key: string | undefined; page: Page<T> } | undefined>(undefined);
  if (loaded.data !== undefined) shown.current = { key, page: loaded.data };
  const page = shown.current?.key === key ? shown.current?.page : undefined;
  const more = page === undefined || page.next_cursor === null ? undefined : () => setPages(pages + 1);
  return { data: page?.data, error: loaded.error, reload, more };
}

type Read<T> = (cursor: string | undefined) => Promise<Page<T>>;

const readByCursor = <T>(path: string, query: Fields, cursor: string | undefined): Promise<Page<T>> =>
  get(path, { ...query, cursor });

async function readAll<T>(read: Read<T>, pages: number): Promise<Page<T>[]> {
  const all: Page<T>[] = [];
  for (let cursor: string | null | undefined; all.length < pages && cursor !== null; ) {
    const page = await read(cursor);
    all.push(page);
    cursor = page.next_cursor;
  }
  return all;
}

/** Reads one page again: every second time the first, and the others in turn. */
async function isSame<T>(kept: Kept<T>, read: Read<T>): Promise<boolean> {
  const { length } = kept.pages;
  const at = length === 1 || kept.looks % 2 === 0 ? 0 : 1 + (((kept.looks - 1) / 2) % (length - 1));
  kept.looks += 1;
  const page = await read(kept.pages[at - 1]?.next_cursor ?? undefined);
  return page.data === kept.pages[at]?.data;
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

// What processes say to each other of new events: the tenants, and the types of each. Pure.

/** Of one tenant: the types of new events; undefined for events of any type. */
export type TenantNews = { readonly tenantId: string; readonly types: readonly string[] | undefined };

/** More types of a tenant are not named, so that they fit in one text: all readers of the tenant are woken then. */
const MOST_TYPES = 50;

const ANY = '*';

/** Collects news until they are told. */
export function createEventNews() {
  let news = new Map<string, Set<string>>();
  return {
    add: (tenantId: string, type: string): void => {
      const types = news.get(tenantId);
      if (types === undefined) news.set(tenantId, new Set([type]));
      else if (types.size < MOST_TYPES) types.add(type);
      else news.set(tenantId, new Set([ANY]));
    },

    /** Takes the news. @returns texts for `readNews`, each up to so many characters, all of them ASCII */
    take: (longest: number): string[] => {
      const texts: string[] = [];
      for (const [tenantId, types] of news) {
        const entry = [tenantId, ...types].join(' ');
        const last = texts.at(-1);
        if (last === undefined || last.length + entry.length >= longest) texts.push(entry);
        else texts[texts.length - 1] = `${last}\n${entry}`;
      }
      news = new Map();
      return texts;
    },
  };
}

/** Reads a text of `take`. */
export function readNews(text: string): TenantNews[] {
  return text.split('\n').map((entry) => {
    const [tenantId = '', ...types] = entry.split(' ');
    return { tenantId, types: types.includes(ANY) ? undefined : types };
  });
}

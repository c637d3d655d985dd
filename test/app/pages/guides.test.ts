// The guides over HTTP, as HTML and as Markdown: each link leads somewhere, for each tenant with its own addresses.
import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { CONTENT_SECURITY_POLICY, listGuides } from '../../../src/app/pages/built-pages.ts';
import { createLlmsText } from '../../../src/platform/http/llms-text.ts';
import { TEST_CONFIG } from '../../platform/http/test-server.ts';
import { serveReference } from './built-reference.ts';

const { anchorOf, renderMarkdown, rewriteMarkdown } = await import(
  /* @vite-ignore */ resolve('scripts/reference/markdown.mjs')
);

const HTML = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

const { folder, server, close } = await serveReference();
afterAll(close);

/** Reads pages from the first ones on, as far as links of `linksOf` go, and returns each link that leads nowhere. */
async function follow(
  first: readonly string[],
  read: (path: string) => Promise<{ links: readonly string[]; anchors: ReadonlySet<string> } | undefined>,
) {
  const pages = new Map<string, Awaited<ReturnType<typeof read>>>();
  const asked: { from: string; path: string; anchor: string }[] = first.map((path) => ({
    from: '',
    path,
    anchor: '',
  }));
  for (const { path } of asked) {
    if (pages.has(path)) continue;
    const page = await read(path);
    pages.set(path, page);
    for (const link of page?.links ?? []) {
      const [to = '', anchor = ''] = link.split('#');
      asked.push({ from: path, path: to === '' ? path : to, anchor });
    }
  }
  const broken = asked.filter(({ path, anchor }) => {
    const page = pages.get(path);
    return page === undefined || (anchor !== '' && !anchor.startsWith('find=') && !page.anchors.has(anchor));
  });
  return { broken, paths: [...pages.keys()] };
}

/** Links to what another part of the service serves. */
const isElsewhere = (link: string) =>
  /^https?:(?!\/\/id\.example)|^(?:\/t\/acme)?\/(?:console|\.well-known\/[\w-]+)$/.test(link);

describe.each(['', '/t/acme'])('the guides below "%s"', (base) => {
  const served = readdirSync('docs/operations').filter((name) => name.endsWith('.md'));

  it('have no link as HTML that leads nowhere, and nothing inline', async () => {
    const { broken, paths } = await follow(
      [`${base}/docs`, `${base}/docs/guides/operations/README`],
      async (path) => {
        const answer = await server.fetch(path, { headers: HTML });
        if (answer.status !== 200) return undefined;
        const text = await answer.text();
        if (answer.headers.get('content-type') !== 'text/html; charset=utf-8')
          return { links: [], anchors: new Set() };
        expect(answer.headers.get('content-security-policy')).toBe(CONTENT_SECURITY_POLICY);
        expect(text).not.toMatch(
          /%BASE%|%URL%|%ORIGIN%|\[object|<script(?![^>]*\ssrc=)|<style|<[^>]*\sstyle=/i,
        );
        const links = [...text.matchAll(/\shref="([^"]+)"/g)].map(([, link = '']) => link);
        return {
          links: links.filter((link) => !isElsewhere(link) && !link.startsWith('data:')),
          anchors: new Set([...text.matchAll(/\sid="([^"]+)"/g)].map(([, id = '']) => id)),
        };
      },
    );
    expect(broken).toEqual([]);
    const guides = paths.filter((path) => path.startsWith(`${base}/docs/guides/`) && !path.endsWith('.md'));
    expect(guides).toHaveLength(listGuides(folder).length + served.length);
  });

  it('have no link as Markdown that leads nowhere', async () => {
    const start = [`${base}/docs/guides`, `${base}/docs/guides/operations/README.md`];
    const { broken, paths } = await follow(start, async (path) => {
      const answer = await server.fetch(path);
      if (answer.status !== 200) return undefined;
      const text = await answer.text();
      if (!answer.headers.get('content-type')?.startsWith('text/markdown'))
        return { links: [], anchors: new Set() };
      expect(text).toMatch(/^# \S/);
      expect(text).not.toMatch(/%BASE%|%URL%|%ORIGIN%|!\[/);
      const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
      expect(links.filter((link) => !/^https?:/.test(link))).toEqual([]);
      return {
        links: links
          .filter((link) => !isElsewhere(link))
          .map((link) => link.replace('https://id.example', '')),
        anchors: new Set([...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading))),
      };
    });
    expect(broken).toEqual([]);
    expect(paths.length).toBeGreaterThan(listGuides(folder).length + served.length);
  });
});

it('a guide is HTML for a browser and Markdown for all others, at its address with .md for everybody', async () => {
  for (const [path, accept, type] of [
    ['/docs/guides/receiving', HTML.accept, 'text/html'],
    ['/docs/guides/receiving', '*/*', 'text/markdown'],
    ['/docs/guides/receiving.md', HTML.accept, 'text/markdown'],
    ['/docs/guides', HTML.accept, 'text/html'],
    ['/docs/guides/', HTML.accept, 'text/html'],
    ['/docs/guides/', 'text/markdown', 'text/markdown'],
    ['/docs/guides.md', HTML.accept, 'text/markdown'],
  ] as const) {
    const answer = await server.fetch(path, { headers: { accept } });
    expect([path, answer.headers.get('content-type')]).toEqual([path, `${type}; charset=utf-8`]);
  }
});

it('caches keep a guide by form, and get 304 while it is the same', async () => {
  const first = await server.fetch('/docs/guides/agents');
  expect(first.headers.get('vary')).toBe('accept, accept-encoding');
  expect(first.headers.get('cache-control')).toBe('no-cache');
  expect(first.headers.get('access-control-allow-origin')).toBe('*');
  const etag = { 'if-none-match': first.headers.get('etag') ?? '' };
  expect((await server.fetch('/docs/guides/agents', { headers: etag })).status).toBe(304);
  expect((await server.fetch('/docs/guides/agents', { headers: { ...etag, ...HTML } })).status).toBe(200);
});

it('/llms.txt lists each guide as Markdown, at an address that is served', async () => {
  const guides = listGuides(folder);
  expect(guides.length).toBeGreaterThan(12);
  const text = createLlmsText(TEST_CONFIG, guides);
  const paths = [...text.matchAll(/\(http:\/\/localhost:8080(\/docs\/guides\/[^)]+)\): \S/g)].map(
    ([, path = '']) => path,
  );
  expect(paths).toHaveLength(guides.length);
  for (const path of paths) expect([path, (await server.fetch(path)).status]).toEqual([path, 200]);
});

it('nothing else of the repository is served', async () => {
  for (const name of [
    'architecture',
    'security',
    'deployment',
    'decisions/0001-held-is-derived',
    'constructor',
    '..',
  ])
    expect([name, (await server.fetch(`/docs/guides/${name}`, { headers: HTML })).status]).toEqual([
      name,
      404,
    ]);
});

it('HTML of a page is text; a link says the title of its page; one to what is not served stays as its text', () => {
  const nowhere = () => undefined;
  expect(renderMarkdown('a <b onclick="x">c</b>\n\n<script>1</script>\n', nowhere)).not.toMatch(/<b|<script/);
  expect(
    renderMarkdown(
      '[x.md](x.md), [y](x.md)',
      () => '/x',
      () => 'The <x>',
    ),
  ).toBe('<p><a href="/x">The &lt;x&gt;</a>, <a href="/x">y</a></p>\n');
  expect(renderMarkdown('[a `b`](../src/x.ts), ![c](d.png)', nowhere)).toBe('<p>a <code>b</code>, </p>\n');
  expect(renderMarkdown('```js a.mjs\nconst a = "<b>";\n```', nowhere)).toMatch(
    /^<p class="file">a\.mjs<\/p>\n<pre tabindex="0"><code><span class="hljs-keyword">const<\/span>.*&lt;b&gt;/,
  );
  expect(rewriteMarkdown('[a\nb](../src/x.ts) `[c](d)`\n\n![e](f.png)\n\nend', nowhere)).toBe(
    'a\nb `[c](d)`\n\nend',
  );
});

// The API reference over HTTP: each operation and each error code is there, for each tenant with its own addresses.
// guides.test.ts has the guides.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { CONTENT_SECURITY_POLICY } from '../../../src/app/pages/built-pages.ts';
import { ADVICE } from '../../../src/platform/errors/advice.ts';
import { ERRORS, publishErrors } from '../../../src/platform/errors/catalogue.ts';
import { serveReference, TENANTS } from './built-reference.ts';

const { html } = await import(/* @vite-ignore */ resolve('scripts/reference/html.mjs'));
const { fromInline, fromMarkdown } = await import(
  /* @vite-ignore */ resolve('scripts/reference/markdown.mjs')
);

const document = JSON.parse(readFileSync('openapi.json', 'utf8'));

const { server, close } = await serveReference();
afterAll(close);

async function read(path: string): Promise<string> {
  const answer = await server.fetch(path, { headers: { accept: 'text/html' } });
  expect([path, answer.status]).toEqual([path, 200]);
  expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(answer.headers.get('content-security-policy')).toBe(CONTENT_SECURITY_POLICY);
  return answer.text();
}

const linksOf = (text: string) => [...text.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, link]) => link ?? '');

it.each(['', '/t/acme'])(
  'has no dead link, nothing inline, and the addresses of its tenant below "%s"',
  async (base) => {
    const first = await read(`${base}/docs`);
    const pages = new Set(linksOf(first).map((link) => link.split('#')[0] ?? ''));
    const local = [...pages].filter(
      (path) => path.startsWith(`${base}/docs`) && !/\/(?:assets|guides)\//.test(path),
    );
    expect(local.length).toBeGreaterThan(15);
    for (const path of local) {
      const text = await read(path);
      expect(text).not.toMatch(/%BASE%|%URL%|\[object|undefined</);
      expect(text).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=/i);
      const ids = new Set([...text.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id));
      for (const link of linksOf(text)) if (link.startsWith('#')) expect(ids).toContain(link.slice(1));
    }
    for (const asset of linksOf(first).filter((link) => link.includes('/assets/')))
      expect((await server.fetch(asset)).headers.get('cache-control')).toContain('immutable');
    expect(await read(`${base}/docs/agents`)).toContain(
      `${base === '' ? 'https://id.example' : TENANTS.acme}/api/v1/agents`,
    );
  },
);

it('shows every operation', async () => {
  const text = await read('/docs');
  const names = Object.values(document.paths as Record<string, Record<string, { operationId?: string }>>)
    .flatMap((methods) => Object.values(methods))
    .flatMap(({ operationId }) => operationId ?? []);
  expect(names.filter((name) => !text.includes(`#${name}"`))).toEqual([]);
});

it('has an anchor for each error code and each status of an answer', async () => {
  const text = await read('/docs/errors');
  for (const code of Object.keys(ERRORS)) expect(text).toContain(`id="${code}"`);
  const asked = new Set(
    [...(await read('/docs/agents')).matchAll(/errors#(\d+)"/g)].map(([, status]) => status),
  );
  for (const status of asked) if (status !== '405') expect(text).toContain(`id="${status}"`);
});

it('says of each error code its title, its statuses and what to do', async () => {
  const text = await read('/docs/errors');
  for (const { code, title, statuses, reserved } of publishErrors()) {
    const [row = ''] = text.slice(text.indexOf(`<tr id="${code}"`)).split('</tr>');
    expect(row).toContain(`<br>${title}</td><td>${statuses.join(', ')}</td>`);
    expect(row).toContain(reserved ? 'Not used yet.' : fromInline(ADVICE[code] ?? '-').html);
  }
});

it('is where each problem leads, to the line of its code, below the address of its tenant', async () => {
  for (const [base, address] of [
    ['', TENANTS.demo],
    ['/t/acme', TENANTS.acme],
  ]) {
    const answer = await server.fetch(`${base}/api/v1/nothing`);
    const { error, type } = (await answer.json()) as { error: string; type: string };
    expect(type).toMatch(/\/not-found$/);
    const target = `${address}/docs/errors#${error}`;
    expect(answer.headers.get('link')).toBe(`<${target}>; rel="help"`);
    const page = await read(`${base}/docs/errors`);
    for (const anchor of [error, type.split('/').at(-1)]) expect(page).toContain(` id="${anchor}"`);
  }
});

it('is in no answer that is no problem, and in none without a tenant', async () => {
  for (const path of ['/docs', '/', '/healthz', '/t/nobody/docs'])
    expect([path, (await server.fetch(path)).headers.get('link')]).toEqual([path, null]);
});

it('answers / with links, as HTML or JSON', async () => {
  expect(await read('/t/acme/')).toContain('href="/t/acme/console"');
  const answer = await server.fetch('/');
  expect(await answer.json()).toMatchObject({ docs: 'https://id.example/docs' });
});

it('has no other page', async () => {
  for (const path of ['/docs/nothing', '/docs/', '/docs/../docs/x', '/docs/assets/docs.css'])
    expect((await server.fetch(path)).status).toBe(404);
});

it('escapes what it shows', () => {
  expect(html`<b title="${'"><script>'}">${['<i>', html`<u>${'&'}</u>`]}</b>`.html).toBe(
    '<b title="&quot;&gt;&lt;script&gt;">&lt;i&gt;<u>&amp;</u></b>',
  );
  expect(fromInline('a `<x>` **b** [c](https://d.example) [e](javascript:f) ](g').html).toBe(
    'a <code>&lt;x&gt;</code> <strong>b</strong> <a href="https://d.example">c</a> e ](g',
  );
  expect(fromMarkdown('one\n\n```\n<two>\n```').html).toBe(
    '<p>one</p>\n<pre tabindex="0"><code>&lt;two&gt;</code></pre>\n',
  );
});

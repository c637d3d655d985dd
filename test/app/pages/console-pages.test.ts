// The page of the console and its assets, as the build makes them, over HTTP.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { CONTENT_SECURITY_POLICY, findConsolePages } from '../../../src/app/pages/built-pages.ts';
import { startTestServer, tenantNamed } from '../../platform/http/test-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'console-'));
const { buildConsole } = await import(/* @vite-ignore */ resolve('scripts/console.mjs'));
await buildConsole(resolve('src/console'), folder);
writeFileSync(join(folder, 'assets', 'note.txt'), 'not an asset');
const server = await startTestServer([], {
  pages: [findConsolePages(folder)],
  tenants: {
    bySlug: async (slug) =>
      slug === 'demo' || slug === 'acme'
        ? {
            ...tenantNamed(slug),
            baseUrl: slug === 'demo' ? 'https://id.example' : 'https://id.example/t/acme',
          }
        : undefined,
  },
});
afterAll(async () => {
  await server.drain(0);
  rmSync(folder, { recursive: true, force: true });
});

const assetsOf = (html: string) =>
  [...html.matchAll(/(?:href|src)="(\/[^"]+)"/g)].map(([, path]) => path ?? '');

it.each([
  ['/console', '/console/assets/'],
  ['/console/agents/0192e4a0-7c1e-7a4b-9d2f-3c5b6a798081', '/console/assets/'],
  ['/t/acme/console', '/t/acme/console/assets/'],
  ['/t/acme/console/deliveries', '/t/acme/console/assets/'],
])('is one page at %s, with the addresses of its assets', async (path, start) => {
  const answer = await server.fetch(path);
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.headers.get('content-security-policy')).toBe(CONTENT_SECURITY_POLICY);
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  const assets = assetsOf(await answer.text());
  expect(assets.length).toBeGreaterThan(1);
  for (const asset of assets) {
    expect(asset.startsWith(start)).toBe(true);
    expect((await server.fetch(asset)).status).toBe(200);
  }
});

it('has a policy without inline scripts, foreign origins and frames', () => {
  expect(CONTENT_SECURITY_POLICY).not.toMatch(/unsafe|\*|https?:/);
  expect(CONTENT_SECURITY_POLICY).toContain("frame-ancestors 'none'");
});

it('has nothing inline', async () => {
  const html = await (await server.fetch('/console')).text();
  expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\son\w+=|\sstyle=/i);
});

it('lets browsers keep its assets for ever, in the coding that they take', async () => {
  const paths = assetsOf(await (await server.fetch('/console')).text());
  const script = paths.find((path) => path.endsWith('.js')) ?? '';
  for (const coding of ['br', 'gzip', 'identity']) {
    const answer = await server.fetch(script, { headers: { 'accept-encoding': coding } });
    expect(answer.headers.get('content-encoding')).toBe(coding === 'identity' ? null : coding);
    expect(answer.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(answer.headers.get('vary')).toBe('accept-encoding');
    expect(await answer.text()).toContain('Countersign');
  }
  const head = await server.fetch(script, { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
});

it.each([
  '/console/assets/../index.html',
  '/console/assets/%2e%2e/index.html',
  '/console/assets/..%2findex.html',
  '/console/assets/%2e%2e%2f%2e%2e%2fpackage.json',
  '/console/assets/....//index.html',
  '/console/assets/note.txt',
  '/console/assets/',
  '/console/assets/constructor',
  '/console/%3Cscript%3E',
  '/consoles',
])('has nothing at %s', async (path) => {
  // `fetch` would resolve the dots by itself.
  const { request } = await import('node:http');
  const status = await new Promise((resolve, reject) => {
    request({ port: server.port, host: '127.0.0.1', path }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    })
      .once('error', reject)
      .end();
  });
  expect(status).toBe(404);
});

it('is not there for an unknown tenant, nor for other methods', async () => {
  expect((await server.fetch('/t/nobody/console')).status).toBe(404);
  expect((await server.fetch('/console', { method: 'POST' })).status).toBe(404);
});

// The API reference in a real browser: both themes, a narrow window, and its keys.
import { rmSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findReferencePages } from '../../../src/app/pages/built-pages.ts';
import { judgeThemes, launch, noteFaults, PROGRAM } from '../../console/chromium.ts';
import { startTestServer, type TestServer, tenantNamed } from '../../platform/http/test-server.ts';
import { buildReference } from './built-reference.ts';

const PAGES = [
  '/',
  '/docs',
  '/docs/errors',
  '/docs/webhooks',
  '/docs/guides/receiving',
  '/docs/guides/console',
  '/docs/guides/glossary',
];

describe.skipIf(PROGRAM === undefined)('the API reference in Chromium', () => {
  let folder: string;
  let server: TestServer;
  let browser: Browser;
  let page: Page;
  let url: string;
  const faults: string[] = [];

  beforeAll(async () => {
    folder = await buildReference();
    server = await startTestServer([], {
      pages: [findReferencePages(folder)],
      tenants: { bySlug: async (slug) => ({ ...tenantNamed(slug), baseUrl: 'http://127.0.0.1' }) },
    });
    url = `http://127.0.0.1:${server.port}`;
    browser = await launch();
    page = await (await browser.newContext()).newPage();
    noteFaults(page, faults);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.drain(0);
    rmSync(folder, { recursive: true, force: true });
  });

  it.each([1_280, 400])('has no fault on a page of %i pixels, in both themes', async (width) => {
    await page.setViewportSize({ width, height: 800 });
    const found: string[] = [];
    for (const path of PAGES) {
      await page.goto(`${url}${path}`);
      found.push(...(await judgeThemes(page)));
      if (await page.evaluate('document.documentElement.scrollWidth > innerWidth'))
        found.push(`${path} is wider than its window`);
    }
    expect(found).toEqual([]);
    expect(faults).toEqual([]);
  });

  it('breaks no code of an error in a narrow window', async () => {
    await page.setViewportSize({ width: 390, height: 800 });
    await page.goto(`${url}/docs/errors`);
    const lines = `[...document.querySelectorAll('tr.name td:first-child code')]
      .map((code) => code.getClientRects().length)`;
    const found = (await page.evaluate(lines)) as number[];
    expect(found.length).toBeGreaterThan(30);
    expect(new Set(found)).toEqual(new Set([1]));
  });

  it('copies a block of code', async () => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.goto(`${url}/docs/guides/receiving`);
    const block = page.locator('.code', { hasText: 'import Koa' });
    await block.getByRole('button').click();
    await block.getByText('Copied').waitFor();
    const copied = await page.evaluate('navigator.clipboard.readText()');
    expect(copied).toMatch(/^import Koa from 'koa';\n/);
    expect(copied).not.toContain('Copy');
  });

  it('finds an operation by keys, from any page', async () => {
    await page.goto(`${url}/docs/agents`);
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content');
    await page.keyboard.press('/');
    await page.keyboard.type('rotate secret');
    await page.keyboard.press('Enter');
    await page.waitForURL(/[/]docs#find=/);
    const links = page.locator('tr.name:not([hidden]) a');
    expect(await links.count()).toBe(1);
    expect(await page.getByRole('status').textContent()).toMatch(/^1 of \d+ found$/);
    await page.keyboard.press('Tab');
    while ((await page.evaluate('document.activeElement.closest("tr") === null')) === true)
      await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.waitForURL(/[/]docs[/]webhooks#rotateWebhookSecret/);
    expect(faults).toEqual([]);
  });
});

// The console in a real browser: its pages in both themes, its keys, its session, and what it says when it is refused.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { SECRET, type ServedConsole, serveConsole } from './served-console.ts';

const PROGRAM = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
  .map((name) => spawnSync('which', [name], { encoding: 'utf8' }).stdout.trim())
  .find((path) => path !== '');
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const PAGES = [
  '',
  '/deliveries',
  '/deliveries/delivery-1',
  '/agents',
  '/agents/agent-1',
  '/agents/agent-1/receipts/receipt-1',
  '/subscriptions',
  '/subscriptions/subscription-1',
  '/events',
  '/audit',
  '/no-such-page',
];

it('is a small script', async () => {
  const served = await serveConsole();
  served.close();
  expect(served.scriptBytes).toBeLessThan(150_000);
});

// Not every machine has a browser.
describe.skipIf(PROGRAM === undefined)('the console in Chromium', () => {
  let browser: Browser;
  let served: ServedConsole;
  let page: Page;
  const faults: string[] = [];

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: PROGRAM ?? '', args: ['--no-sandbox'] });
  });
  afterAll(() => browser.close());
  afterEach(async () => {
    await page.context().close();
    served.close();
  });

  async function begin(colorScheme: 'light' | 'dark' = 'light', path = '#code=good'): Promise<void> {
    served = await serveConsole();
    faults.length = 0;
    page = await (await browser.newContext({ colorScheme })).newPage();
    page.on('pageerror', ({ message }) => faults.push(message));
    page.on('console', (line) => {
      // The browser itself writes a line about each refusal of the server.
      if (line.type() === 'error' && !line.text().startsWith('Failed to load resource'))
        faults.push(line.text());
    });
    await page.goto(`${served.url}${path}`);
  }

  async function judge(): Promise<string[]> {
    // By the debugger: the page's policy refuses inline scripts, as it should.
    const debuggerOfPage = await page.context().newCDPSession(page);
    await debuggerOfPage.send('Runtime.evaluate', { expression: AXE });
    const { result } = await debuggerOfPage.send('Runtime.evaluate', {
      expression: `axe.run().then(({ violations }) => JSON.stringify(
        violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' '))))`,
      awaitPromise: true,
    });
    return JSON.parse(result.value);
  }

  it.each(['light', 'dark'] as const)('has no fault on any page in the %s theme', async (theme) => {
    await begin(theme, '');
    await page.getByLabel('Client id').waitFor();
    const found = { 'sign-in': await judge() } as Record<string, string[]>;
    await page.goto(`${served.url}#code=good`);
    await page.reload();
    await page.getByRole('navigation').waitFor();
    for (const path of PAGES) {
      await page.goto(`${served.url}${path}`);
      await page.locator('main h1').waitFor();
      await page.getByLabel('Loading').first().waitFor({ state: 'detached' });
      found[path] = await judge();
    }
    expect(Object.entries(found).filter(([, violations]) => violations.length > 0)).toEqual([]);
    expect(faults).toEqual([]);
  });

  it('takes the code of a link out of the address', async () => {
    await begin();
    await page.getByRole('navigation').waitFor();
    expect(page.url()).toBe(served.url);
  });

  it('says why credentials are refused, and takes good ones', async () => {
    await begin('light', '');
    await page.getByLabel('Client id').fill('client-1');
    await page.getByLabel('Client secret').fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    expect(await page.getByRole('alert').textContent()).toContain('request-1');
    await page.getByLabel('Client secret').fill(SECRET);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('navigation').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Client id').waitFor();
  });

  it('walks by keys, shows hostile text as text, and suspends an agent after asking', async () => {
    await begin();
    await page.getByRole('navigation').waitFor();
    await page.keyboard.type('gd');
    await page.locator('tbody tr').waitFor();
    await page.keyboard.type('j');
    await page.keyboard.press('Enter');
    await page.getByText('Answer', { exact: true }).click();
    await page.getByText('document.title = "injected"').waitFor();
    await page.keyboard.type('ga');
    await page.getByRole('link', { name: 'invoice-bot' }).click();
    await page.getByRole('button', { name: 'Suspend…' }).click();
    expect(served.asked.filter((line) => line.startsWith('PATCH'))).toEqual([]);
    await page.getByRole('button', { name: 'Suspend agent' }).click();
    await page.getByText('0 of 1 receivers have acknowledged').waitFor();
    expect(page.url()).toBe(`${served.url}/agents/agent-1/receipts/receipt-1`);
    expect(faults).toEqual([]);
  });

  it('names the missing scope, and renews a token that was refused', async () => {
    await begin();
    await page.getByRole('navigation').waitFor();
    await page.keyboard.type('gi');
    const refusal = await page.getByRole('alert').textContent();
    expect(refusal).toContain('tenant:write');
    expect(refusal).toContain('request-2');
    served.endTokens();
    await page.keyboard.type('gd');
    await page.locator('tbody tr').waitFor();
    await page.keyboard.type('gi');
    await page.locator('tbody tr').waitFor();
    expect(served.asked.at(-1)).toContain('token-2');
  });
});

// The console in a real browser: its pages in both themes, its keys, its session, and what it says when it is refused.
import type { Browser, Page, Route } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findSideways, judge, launch, noteFaults, PROGRAM, walkBars } from './chromium.ts';
import { SECRET, type ServedConsole, serveConsole } from './served-console.ts';

const PAGES = [
  '',
  '/deliveries',
  '/deliveries/delivery-1',
  '/deliveries/delivery-2',
  '/agents',
  '/agents/agent-1',
  '/agents/agent-1/receipts/receipt-1',
  '/agents/agent-1/receipts/receipt-2',
  '/subscriptions',
  '/subscriptions/subscription-1',
  '/deliveries/no-such-delivery',
  '/events',
  '/audit',
  '/applications',
  '/applications/client-2',
  '/issuers',
  '/streams',
  '/settings',
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
    browser = await launch();
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
    // The browser itself writes a line about each refusal of the server.
    noteFaults(page, faults, (text) => text.startsWith('Failed to load resource'));
    await page.goto(`${served.url}${path}`);
  }

  async function signIn(): Promise<void> {
    await begin();
    await page.getByRole('navigation').waitFor();
  }

  it.each(['light', 'dark'] as const)('has no fault on any page in the %s theme', async (theme) => {
    await begin(theme, '');
    await page.getByLabel('Client id').waitFor();
    const found = { 'sign-in': await judge(page, theme) } as Record<string, string[]>;
    await page.goto(`${served.url}#code=good`);
    await page.reload();
    await page.getByRole('navigation').waitFor();
    for (const path of PAGES) {
      await page.goto(`${served.url}${path}`);
      await page.locator('main h1').waitFor();
      await page.getByLabel('Loading').first().waitFor({ state: 'detached' });
      found[path] = [...(await judge(page, theme)), ...(await findSideways(page))];
    }
    expect(Object.entries(found).filter(([, violations]) => violations.length > 0)).toEqual([]);
    expect(faults).toEqual([]);
  });

  it('takes the code of a link out of the address', async () => {
    await signIn();
    expect(page.url()).toBe(served.url);
  });

  it('says why credentials are refused, and takes good ones', async () => {
    await begin('light', '');
    await page.getByLabel('Client id').fill('client-1');
    await page.getByLabel('Client secret').fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    expect(await page.getByRole('alert').textContent()).toContain('request-1');
    await page.getByText('The id or the secret is wrong').waitFor();
    await page.getByLabel('Client secret').fill(SECRET);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('navigation').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Client id').waitFor();
  });

  it('ends what it still asks for when somebody signs out: that would be refused', async () => {
    await begin();
    const unanswered: Route[] = [];
    await page.route('**/api/v1/deliveries', (route) => void unanswered.push(route));
    await page.getByRole('link', { name: 'Deliveries' }).first().click();
    await expect.poll(() => unanswered.length).toBeGreaterThan(0);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Client id').waitFor();
    for (const route of unanswered) expect(route.request().failure()?.errorText).toContain('ERR_ABORTED');
    expect(faults).toEqual([]);
  });

  it('walks by keys, shows hostile text as text, and suspends an agent after asking', async () => {
    await signIn();
    await page.keyboard.type('gd');
    await page.locator('tbody tr').waitFor();
    await page.keyboard.type('j');
    await page.keyboard.press('Enter');
    await page.getByText('Answer', { exact: true }).click();
    await page.getByText('document.title = "injected"').waitFor();
    await page.keyboard.type('ga');
    await page.getByRole('link', { name: 'invoice-bot' }).click();
    await page.getByRole('button', { name: 'Suspend…' }).click();
    await page.getByText('0 receivers will be told.').waitFor();
    expect(served.asked.filter((line) => line.startsWith('PATCH'))).toEqual([]);
    await page.getByRole('button', { name: 'Suspend agent' }).click();
    await page.getByText('0 of 1 receivers have acknowledged').waitFor();
    expect(page.url()).toBe(`${served.url}/agents/agent-1/receipts/receipt-1`);
    expect(faults).toEqual([]);
  });

  it('answers who an agent is for, and by whose word it acts', async () => {
    await signIn();
    await page.keyboard.type('ga');
    const row = page.getByRole('row', { name: 'invoice-bot' });
    expect(await row.textContent()).toContain('finance@example.comReconciles invoices');
    await page.keyboard.type('j');
    await page.keyboard.press('Enter');
    const grants = page.getByRole('group', { name: 'Grants' });
    await grants.waitFor();
    const rows = await grants.locator('tbody tr').allTextContents();
    expect(rows).toEqual([
      expect.stringContaining('usermia of https://people.example'),
      expect.stringContaining('applicationBack office'),
      expect.stringContaining('workloadhttps://ci.examplesub=repo:acme/*'),
    ]);
    await page.getByRole('button', { name: 'Edit…' }).click();
    await page.getByRole('textbox', { name: 'Owner' }).fill('');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(served.asked.filter((line) => line.startsWith('PATCH'))).toHaveLength(1);
    expect(faults).toEqual([]);
  });

  it('says first whether all is right, and leads from a day to what has failed on it', async () => {
    await signIn();
    await page.getByText('1 endpoint is held: 3 deliveries wait there.').waitFor();
    expect(await page.title()).toBe('Demo · Demo · Countersign');
    expect(await walkBars(page, ['ArrowRight', 'ArrowLeft', 'ArrowLeft'])).toEqual({ stops: [1], at: 3 });
    await page.getByRole('button', { name: '14 days' }).click();
    const today = new Date().toISOString().slice(0, 10);
    await page.getByRole('link', { name: `${today}: delivered 5,290` }).click();
    await page.getByRole('heading', { name: 'Deliveries' }).waitFor();
    expect(page.url()).toContain(`deliveries?status=failed&since=${today}T00:00:00.000Z&until=`);
    await page.keyboard.type('/');
    await page.keyboard.press('Escape');
    await page.keyboard.type('ga');
    await page.getByRole('link', { name: 'invoice-bot' }).click();
    await page.getByRole('heading', { name: 'invoice-bot' }).waitFor();
    expect(await page.title()).toBe('invoice-bot · Demo · Countersign');
    expect(faults).toEqual([]);
  });

  it('begins an agent with the commands that register its key, which it shows once', async () => {
    await signIn();
    await page.goto(`${served.url}/agents`);
    await page.getByRole('button', { name: 'New agent…' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByRole('button', { name: 'Create' }).isDisabled()).toBe(true);
    await dialog.getByLabel('Name').fill('invoice-bot');
    await dialog.getByLabel('vault:read').check();
    expect(await judge(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByText('enroll_once').waitFor();
    await dialog.getByText('The token is open').waitFor();
    expect(await judge(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Python' }).click();
    await dialog.getByText('from countersign_agent import').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('heading', { name: 'invoice-bot' }).waitFor();
    expect(await page.getByText('enroll_once').count()).toBe(0);
    const sent = served.asked.filter((line) => line.startsWith('POST'));
    expect(sent).toEqual([
      'POST agents Bearer token-1',
      'POST agents/agent-1/enrollment-tokens Bearer token-1',
    ]);
    expect(faults).toEqual([]);
  });

  it('shows where a key rotation stands, and cancels it after asking', async () => {
    await signIn();
    await page.goto(`${served.url}/agents/agent-1`);
    const rotations = page.getByRole('group', { name: 'Key rotations' });
    await rotations.getByText('waits until the agent uses the new key').waitFor();
    await rotations.getByText('late').waitFor();
    await rotations.getByRole('button', { name: 'Cancel…' }).click();
    await page.getByText('Both keys stay as they are.').waitFor();
    expect(served.asked.some((line) => line.includes('/cancel'))).toBe(false);
    await page.getByRole('button', { name: 'Cancel rotation' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(served.asked.filter((line) => line.startsWith('POST'))).toEqual([
      'POST agents/agent-1/keys/rotations/rotation-1/cancel Bearer token-1',
    ]);
    expect(faults).toEqual([]);
  });

  it('leaves the audience of a tenant to follow its base URL when only the name is changed', async () => {
    await signIn();
    await page.keyboard.type('gt');
    await page.getByRole('button', { name: 'Edit…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Acme');
    const sent = page.waitForRequest((request) => request.method() === 'PATCH');
    await dialog.getByRole('button', { name: 'Save' }).click();
    // So do days that equal the operator's.
    const retention = { deliveries_days: 7, events_days: null, audit_addresses_days: null };
    expect((await sent).postDataJSON()).toEqual({
      ...{ name: 'Acme', audience: null, signing_algorithm: 'ES256' },
      retention,
    });
    await dialog.waitFor({ state: 'detached' });
    expect(faults).toEqual([]);
  });

  it('gives an application a second secret, shown once', async () => {
    await signIn();
    await page.keyboard.type('gp');
    await page.getByRole('link', { name: 'Back office' }).click();
    await page.getByRole('button', { name: 'New secret…' }).click();
    await page.getByRole('button', { name: 'Add secret' }).click();
    await page.getByText('second-secret').waitFor();
    await page.getByRole('button', { name: 'I have kept it' }).click();
    expect(await page.getByText('second-secret').count()).toBe(0);
    expect(faults).toEqual([]);
  });

  it('says why a delivery ended, what a pause means, and deletes a subscription after asking', async () => {
    await signIn();
    await page.goto(`${served.url}/deliveries/delivery-2`);
    await page.getByText('HTTP 422 refuses this delivery for good').waitFor();
    await page.goto(`${served.url}/subscriptions/subscription-1`);
    await page.getByRole('button', { name: 'Pause…' }).click();
    await page.getByText('New events wait too').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Delete…' }).click();
    await page.getByText('Its 3 waiting deliveries are canceled').waitFor();
    expect(served.asked.filter((line) => line.startsWith('DELETE'))).toEqual([]);
    await page.getByRole('button', { name: 'Delete subscription' }).click();
    await page.getByRole('heading', { name: 'Subscriptions' }).waitFor();
    expect(served.asked.filter((line) => line.startsWith('DELETE'))).toHaveLength(1);
    expect(faults).toEqual([]);
  });

  it('says why an endpoint is in trouble, tries it now, and sends all again once they are counted', async () => {
    await signIn();
    const sent = (what: string) =>
      served.asked.filter((line) => line.startsWith(`POST webhooks/subscription-1/${what}`));
    await page.goto(`${served.url}/subscriptions/subscription-1`);
    await page
      .getByText(/^Nothing but failures since .*, the latest HTTP 503\. The next delivery may go out at /)
      .waitFor();
    const failures = await page
      .getByRole('group', { name: 'Failures' })
      .locator('tbody tr')
      .allTextContents();
    expect(failures).toEqual(['HTTP 422016', 'HTTP 50330']);
    await page.getByRole('button', { name: 'Try now' }).click();
    await expect.poll(() => sent('probe')).toHaveLength(1);
    await page.getByRole('button', { name: 'Send all 16 again…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('16 deliveries would be sent again.').waitFor();
    await dialog.getByLabel('Those that were created').selectOption('in the last hour');
    await dialog.getByText('0 deliveries would be sent again.').waitFor();
    expect(await dialog.getByRole('button', { name: 'Send 0 again' }).isDisabled()).toBe(true);
    await dialog.getByLabel('Those that were created').selectOption('in the last 7 days');
    await dialog.getByRole('button', { name: 'Send 16 again' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('4 of 16').waitFor();
    for (const words of ['1 delivered', '2 waiting', '1 failed again'])
      await page.locator('.outcomes').getByText(words, { exact: true }).waitFor();
    expect(await judge(page)).toEqual([]);
    await page.goto(`${served.url}/deliveries?status=failed`);
    await page.getByText('To send all again, choose a subscription.').waitFor();
    await page.getByLabel('Subscription').fill('https://receiver.example/hooks');
    await page.getByLabel('Subscription').press('Enter');
    await page.getByRole('button', { name: 'Send all again…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Send 16 again' }).click();
    await page.getByText('4 of 16').waitFor();
    expect(page.url()).toBe(`${served.url}/subscriptions/subscription-1`);
    expect(faults).toEqual([]);
  });

  it('loads again what failed because the service was busy, and says so once for all tables', async () => {
    await signIn();
    await page.clock.install();
    for (const path of ['delegations', 'agents/agent-1/keys']) served.failOnce(path);
    await page.goto(`${served.url}/agents/agent-1`);
    // More than one would be no place to wait for.
    await page.getByText('It is tried again by itself.').waitFor();
    await page.clock.fastForward(5_000);
    await page.getByRole('cell', { name: 'mia of https://people.example' }).waitFor();
    await page.getByRole('alert').waitFor({ state: 'detached' });
  });

  it.each([
    '/events',
    '/deliveries',
    '',
    '/subscriptions/subscription-1',
    '/issuers',
    '/agents/agent-1',
    '/agents/agent-1/receipts/receipt-1',
  ])('asks once in ten seconds in an idle tab of %s, and not when it is hidden', async (path) => {
    await signIn();
    await page.clock.install();
    await page.goto(`${served.url}${path}`);
    await page.locator('main h1').waitFor();
    await page.getByLabel('Loading').first().waitFor({ state: 'detached' });
    // From here on no time passes but what the case lets pass.
    await page.clock.pauseAt(Date.now() + 60_000);
    const pass = async (seconds: number): Promise<void> => {
      for (let n = 0; n < seconds; n += 1) await page.clock.runFor(1_000);
    };
    await pass(20);
    // Counted as they are sent: one may arrive at the server later.
    let asked = 0;
    page.on('request', () => {
      asked += 1;
    });
    await pass(60);
    expect(asked).toBeGreaterThan(2);
    expect(asked).toBeLessThanOrEqual(6);
    await page.evaluate(() => {
      Object.defineProperty(document, 'visibilityState', { value: 'hidden' });
    });
    // What was asked before arrives.
    await page.waitForLoadState('networkidle');
    asked = 0;
    await pass(60);
    expect(asked).toBe(0);
  });

  it('asks for no token before somebody has signed in: a refusal would be an error of the page', async () => {
    await begin('light', '');
    await page.getByLabel('Client id').waitFor();
    expect(served.tokensAsked()).toBe(0);
  });

  it('keeps the columns of all agents on the screen beside a name of 200 characters', async () => {
    await signIn();
    await page.setViewportSize({ width: 1_400, height: 900 });
    await page.goto(`${served.url}/agents`);
    const row = page.getByRole('row', { name: 'nnnn' });
    await row.waitFor();
    expect(await row.textContent()).toContain('openidorders:readorders:write+3');
    expect(await row.getByTitle('n'.repeat(200)).count()).toBe(1);
    const table = page.getByRole('group', { name: 'Agents' });
    expect(await table.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
  });

  it('says whose session has ended, and returns to the page', async () => {
    await signIn();
    await page.keyboard.type('gd');
    await page.locator('tbody tr').waitFor();
    served.endSession();
    await page.keyboard.type('ga');
    await page.getByText('Your session at Demo has ended.').waitFor();
    expect(await judge(page)).toEqual([]);
    await page.getByLabel('Client id').fill('client-1');
    await page.getByLabel('Client secret').fill(SECRET);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Agents' }).waitFor();
    expect(page.url()).toBe(`${served.url}/agents`);
  });

  it('names the missing scope, and renews a token that was refused', async () => {
    await signIn();
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

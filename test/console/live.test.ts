// The console in a browser against the real service: api, worker, Postgres, Temporal, a receiver that fails.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Locator, Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PATIENCE } from '../setup/patience.ts';
import { judgeThemes, PROGRAM } from './chromium.ts';
import { openInterface, openPage, startFickleReceiver, startLiveTenant } from './live-service.ts';

const PAGES = [
  ...['', 'deliveries', 'agents', 'applications', 'issuers', 'subscriptions', 'streams', 'events', 'audit'],
  ...['issuer-keys', 'settings'],
];

const press = (place: Page | Locator, name: string) =>
  place.getByRole('button', { name, exact: true }).click();
const statusOf = (page: Page, word: string) => page.locator('header .status', { hasText: word }).waitFor();

const run = promisify(execFile);

/** Runs the commands of the dialog in a folder of their own, as an agent's machine would. */
async function registerBy(dialog: Locator, language: 'Shell' | 'JavaScript'): Promise<void> {
  await press(dialog, language);
  const text = (await dialog.locator('pre').textContent()) ?? '';
  const cwd = await mkdtemp(join(tmpdir(), 'countersign-agent-'));
  onTestFinished(() => rm(cwd, { recursive: true }));
  if (language === 'Shell') await run('sh', ['-c', text], { cwd });
  else {
    await symlink(resolve('node_modules'), join(cwd, 'node_modules'));
    await writeFile(join(cwd, 'agent.mjs'), text);
    expect((await run(process.execPath, ['agent.mjs'], { cwd })).stdout).toBe('200 invoice-bot\n');
  }
  await dialog.getByText('The agent has registered its key.').waitFor();
  await press(dialog, 'Close');
}

type Subscription = { readonly endpoint: { readonly state: string } };

describe.skipIf(PROGRAM === undefined)('the console of the real service', () => {
  it('is walked from a sign-in link to the proof of what was done', async () => {
    const faults: string[] = [];
    const [tenant, receiver, page] = await Promise.all([
      startLiveTenant(),
      startFickleReceiver(),
      openPage(faults),
    ]);
    const console = `${tenant.base_url}/console`;
    const dialog = page.getByRole('dialog');

    // Signed in by a link, and by credentials.
    await page.goto((await tenant.read<{ url: string }>(['console', '--tenant', 'walker'])).url);
    await press(page, 'Sign out');
    await page.getByLabel('Client id').fill(tenant.client_id);
    await page.getByLabel('Client secret').fill(tenant.client_secret);
    await press(page, 'Sign in');

    // A subscription: made, tested, paused, resumed, its secret rotated.
    await page.getByRole('link', { name: 'Subscriptions' }).first().click();
    await press(page, 'New subscription…');
    await dialog.getByLabel('Address').fill(receiver.url);
    await dialog.getByLabel('Event types').fill('commerce.* admin.agent.*');
    await press(dialog, 'Create');
    const first = await dialog.locator('.secret code').textContent();
    await press(dialog, 'I have kept it');
    await press(page, 'Send test');
    await statusOf(page, 'delivered');
    await page.getByRole('link', { name: receiver.url }).click();
    await press(page, 'Pause…');
    await press(dialog, 'Pause');
    await statusOf(page, 'inactive');
    await press(page, 'Resume');
    await statusOf(page, 'open');
    await press(page, 'Rotate secret…');
    await press(dialog, 'Rotate secret');
    expect(await dialog.locator('.secret code').textContent()).not.toBe(first);
    await press(dialog, 'I have kept it');
    const subscription = page.url();

    // An agent: who answers for it, and how it is stopped.
    await page.getByRole('link', { name: 'Agents' }).click();
    await press(page, 'New agent…');
    await dialog.getByLabel('Name').fill('invoice-bot');
    await press(dialog, 'Create');
    await registerBy(dialog, 'Shell');
    await press(page, 'Register a key…');
    await registerBy(dialog, 'JavaScript');
    await press(page, 'Edit…');
    await dialog.getByLabel('Owner').fill('finance@example.com');
    await dialog.getByLabel('Purpose').fill('Reconciles invoices');
    await press(dialog, 'Save');
    await page.getByText('finance@example.com').waitFor();
    await page.getByText('It acts as itself only').waitFor();
    const agent = page.url();
    await press(page, 'Suspend…');
    await press(dialog, 'Suspend agent');
    await page.getByText('1 of 1 receiver has acknowledged').waitFor();
    const receipt = page.url();
    await page.goto(`${console}/agents?status=suspended`);
    await page.getByRole('cell', { name: 'Reconciles invoices' }).waitFor();

    // An event by the example of its type, to a receiver that is broken: one delivery retried, one canceled.
    receiver.state.status = 500;
    const publish = async (type: string): Promise<void> => {
      await page.goto(`${console}/events`);
      await press(page, 'Publish…');
      await dialog.getByLabel('Example of the catalogue').selectOption(type);
      await press(dialog, 'Publish');
      await page.getByRole('link', { name: type }).first().click();
      await page.getByRole('cell', { name: 'HTTP 500' }).waitFor();
      await page.getByRole('link', { name: type }).click();
    };
    await publish('commerce.payment.succeeded');
    receiver.state.status = 200;
    await press(page, 'Retry now');
    await statusOf(page, 'delivered');
    receiver.state.status = 500;
    await publish('commerce.payment.failed');
    await press(page, 'Cancel');
    await press(dialog, 'Cancel delivery');
    await statusOf(page, 'canceled');
    receiver.state.status = 200;
    const delivery = page.url();

    // The entry of the suspension, with its proof once it is sealed.
    await expect
      .poll(
        async () => {
          await page.goto(`${console}/audit?action=agent.suspended`);
          await press(page, 'Show… agent.suspended');
          await press(dialog, 'Proof of inclusion');
          await dialog.getByText('"leaf_hash"').or(dialog.getByRole('alert')).waitFor();
          return dialog.getByText('newest signed checkpoint').count();
        },
        { ...PATIENCE, interval: 1_000 },
      )
      .toBe(1);
    const found: string[] = [];
    for (const address of [
      ...PAGES.map((path) => `${console}/${path}`),
      subscription,
      delivery,
      agent,
      receipt,
    ]) {
      await page.goto(address);
      await page.locator('main h1').waitFor();
      await page.getByLabel('Loading').first().waitFor({ state: 'detached' });
      found.push(...(await judgeThemes(page)));
    }
    expect(found).toEqual([]);
    // A proof that is asked for before the entry is sealed is refused.
    expect(faults.filter((fault) => !fault.includes('audit?action='))).toEqual([]);
  });

  it('mends in a few clicks what a receiver has refused, and what it has asked to wait with', async () => {
    const faults: string[] = [];
    const [tenant, refusing, pausing, page] = await Promise.all([
      startLiveTenant(),
      startFickleReceiver(),
      startFickleReceiver(),
      openPage(faults),
    ]);
    const { post, get } = await openInterface(tenant);
    await page.goto((await tenant.read<{ url: string }>(['console', '--tenant', 'walker'])).url);
    await page.getByRole('navigation').waitFor();
    /** Opens the page of a new subscription, whose receiver answers three deliveries with this status. */
    const begin = async ({ url, state }: typeof refusing, type: string, status: number) => {
      state.status = status;
      const { id } = await post<{ id: string }>('/api/v1/webhooks', { url, event_types: [type] });
      for (let n = 0; n < 3; n += 1) await post('/api/v1/events', { type, data: { n } });
      await page.goto(`${tenant.base_url}/console/subscriptions/${id}`);
      await page.getByRole('group', { name: 'Failures' }).getByText(`HTTP ${status}`).waitFor();
      return async (word: string) => {
        await statusOf(page, word);
        await expect
          .poll(async () => (await get<Subscription>(`/api/v1/webhooks/${id}`)).endpoint.state, PATIENCE)
          .toBe(word);
      };
    };
    const delivered = () =>
      expect.poll(() => page.getByRole('cell', { name: 'delivered', exact: true }).count(), PATIENCE).toBe(3);

    const isRefused = await begin(refusing, 'shop.refused', 422);
    await isRefused('failing');
    await page.getByText('Nothing but HTTP 422 since').waitFor();
    refusing.state.status = 200;
    await press(page, 'Send all 3 again…');
    await press(page.getByRole('dialog'), 'Send 3 again');
    await page.getByText('3 of 3').waitFor();
    await delivered();
    await page.getByText('3 delivered', { exact: true }).waitFor();
    await isRefused('open');

    const isPaused = await begin(pausing, 'shop.paused', 503);
    await isPaused('held');
    await page.getByText(/The next delivery may go out at/).waitFor();
    pausing.state.status = 200;
    await press(page, 'Try now');
    await delivered();
    await isPaused('open');
    expect(faults).toEqual([]);
  });
});

// What a page shows is what the interface and Temporal say at the same moment.
import { Client, Connection } from '@temporalio/client';
import type { Page } from 'playwright-core';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { describeAnswer, describeError } from '../../src/console/format.ts';
import type {
  Agent,
  AuditEntry,
  Delivery,
  Page as ListPage,
  Standing,
  Subscription,
  SubscriptionDetails,
} from '../../src/console/types.ts';
import { PATIENCE } from '../setup/patience.ts';
import { PROGRAM } from './chromium.ts';
import { openInterface, openPage, startFickleReceiver, startLiveTenant } from './live-service.ts';

type Interface = Awaited<ReturnType<typeof openInterface>>;

/** The rows of a table, by the heads of its columns. */
async function readTable(page: Page, label: string, heads: readonly string[]): Promise<string[][]> {
  const table = page.getByRole('group', { name: label, exact: true });
  const names = await table.locator('thead th').allInnerTexts();
  const rows = await table
    .locator('tbody tr')
    .evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent ?? '')));
  return rows.map((cells) => heads.map((head) => (cells[names.indexOf(head)] ?? '').trim()));
}

/** Pages follow the service by polling: what they show has to become what it says, which stays as it is meanwhile. */
async function agree<T>(says: () => Promise<T>, shows: () => Promise<T>): Promise<void> {
  const said = await says();
  await expect.poll(shows, PATIENCE).toEqual(said);
  expect(await says()).toEqual(said);
}

/** Five endpoints: one takes all, one refuses, one has asked for a pause, one is paused, one fails; and two agents. */
async function fill({ post, get }: Interface): Promise<void> {
  for (const [type, status, active] of [
    ['shop.taken', 200, true],
    ['shop.refused', 422, true],
    ['shop.held', 503, true],
    ['shop.paused', 200, false],
    ['shop.late', 500, true],
  ] as const) {
    const { url, state } = await startFickleReceiver();
    state.status = status;
    const retry_policy = { delays_seconds: [3_600] };
    await post('/api/v1/webhooks', { url, event_types: [type], active, retry_policy });
    for (let n = 0; n < 3; n += 1) await post('/api/v1/events', { type, data: { n } });
  }
  for (const name of ['invoice-bot', 'order-bot']) await post('/api/v1/agents', { name, scopes: ['openid'] });
  // Whether one attempt or each of three is answered with the pause is a matter of moments.
  const settled = async () => {
    const { data } = await get<ListPage<Delivery>>('/api/v1/deliveries');
    const count = (...wanted: string[]) => data.filter(({ status }) => wanted.includes(status)).length;
    const { data: all } = await get<ListPage<Subscription>>('/api/v1/webhooks');
    const states = all.map(({ endpoint }) => endpoint.state).sort();
    return [count('delivered'), count('failed'), count('held', 'retrying'), ...states];
  };
  await expect.poll(settled, PATIENCE).toEqual([3, 3, 9, 'failing', 'failing', 'held', 'inactive', 'open']);
}

describe.skipIf(PROGRAM === undefined)('the pages of the console', () => {
  it('say what the interface and Temporal say at the same moment', async () => {
    const faults: string[] = [];
    const [tenant, page, connection] = await Promise.all([
      startLiveTenant(),
      openPage(faults),
      Connection.connect({ address: inject('temporalAddress') }),
    ]);
    onTestFinished(() => connection.close());
    const { workflow } = new Client({ connection, namespace: tenant.namespace });
    const service = await openInterface(tenant);
    await fill(service);
    const list = async <T>(path: string) => (await service.get<ListPage<T>>(`/api/v1/${path}`)).data;
    const open = async (path: string): Promise<void> => {
      await page.goto(`${tenant.base_url}/console/${path}`);
      await page.locator('main h1').waitFor();
    };
    await page.goto((await tenant.read<{ url: string }>(['console', '--tenant', 'walker'])).url);
    await page.getByRole('navigation').waitFor();

    await open('subscriptions');
    await agree(
      async () =>
        (await list<Subscription>('webhooks')).map(({ url, endpoint }) => [
          ...[endpoint.state, url, String(endpoint.waiting)],
          endpoint.last_error === null ? '–' : describeError(endpoint.last_error),
        ]),
      () => readTable(page, 'Subscriptions', ['Endpoint', 'Address', 'Waiting', 'Why']),
    );

    await open('deliveries');
    await agree(
      async () =>
        (await list<Delivery>('deliveries')).map((one) => [
          ...[one.status, one.event_type, String(one.attempt_count), describeAnswer(one)],
        ]),
      () => readTable(page, 'Deliveries', ['Status', 'Event type', 'Attempts', 'Last answer']),
    );

    await open('agents');
    await agree(
      async () => (await list<Agent>('agents')).map(({ status, name }) => [status, name]),
      () => readTable(page, 'Agents', ['Status', 'Name']),
    );

    // Reading the log is an entry of it, of both readers.
    const isNoRead = (action: string): boolean => action !== 'audit.read';
    await open('audit');
    await agree(
      async () =>
        (await list<AuditEntry>('audit-logs?tokens=false')).map(({ action }) => action).filter(isNoRead),
      async () => (await readTable(page, 'Audit entries', ['Action'])).flat().filter(isNoRead),
    );

    const tile = async (name: string): Promise<string | null> =>
      page.locator('.tiles a', { hasText: name }).locator('strong').textContent();
    await open('');
    await agree(
      async () => {
        const said = await service.get<Standing>('/api/v1/standing');
        return {
          summary: said.summary,
          numbers: [
            said.in_trouble,
            said.waiting,
            said.failed_in_24_hours.deliveries,
            said.subscriptions,
          ].map(String),
          failed: said.failed_in_24_hours.largest.map(({ deliveries }) => String(deliveries)),
          paused: [['inactive', '3']],
        };
      },
      async () => ({
        summary: await page.locator('header .status').textContent(),
        numbers: [
          await tile('Endpoints in trouble'),
          await tile('Deliveries waiting'),
          await tile('Failed in 24 hours'),
          await tile('Subscriptions'),
        ],
        failed: (await readTable(page, 'Failed deliveries', ['Failed'])).flat(),
        paused: await readTable(page, 'inactive, notice', ['Endpoint', 'Waiting']),
      }),
    );
    // What Temporal owns: the endpoint that has asked for a pause, and a delivery that waits for its retry.
    const held = (await list<Subscription>('webhooks')).find(({ endpoint }) => endpoint.state === 'held');
    await open(`subscriptions/${held?.id}`);
    await agree(
      async () => {
        const stands = await workflow
          .getHandle(`endpoint/${held?.id}`)
          .query<{ state: string; waiting: number; lastError: string; opensAt: string }>('state');
        const { endpoint } = await service.get<SubscriptionDetails>(`/api/v1/webhooks/${held?.id}`);
        expect([endpoint.state, endpoint.waiting, endpoint.last_error]).toEqual([
          ...[stands.state, stands.waiting, stands.lastError],
        ]);
        // A later answer may have asked for more, which the workflow reads when its time has come.
        expect(Date.parse(stands.opensAt)).toBeLessThanOrEqual(Date.parse(endpoint.hold_until ?? ''));
        return [stands.state, `${stands.waiting} deliveries`, describeError(stands.lastError)];
      },
      async () => [
        await page.locator('header .status').textContent(),
        await page
          .locator('dt', { hasText: 'Waiting' })
          .locator('xpath=following-sibling::dd[1]')
          .textContent(),
        ...(await readTable(page, 'Failures', ['Failed with'])).flat(),
      ],
    );
    const findLate = async () =>
      (await list<Delivery>('deliveries')).find(
        ({ event_type: type, workflow_id: id }) => type === 'shop.late' && id !== null,
      );
    await expect.poll(findLate, PATIENCE).toBeDefined();
    const retrying = await findLate();
    await open(`deliveries/${retrying?.id}`);
    await agree(
      async () => {
        const described = await workflow.getHandle(retrying?.workflow_id ?? '').describe();
        return {
          status: 'retrying',
          isRunning: described.status.name === 'RUNNING',
          id: described.workflowId,
        };
      },
      async () => ({
        status: await page.locator('header .status').textContent(),
        isRunning: true,
        id: decodeURIComponent(
          (await page.locator('a[href*="/workflows/"]').getAttribute('href'))
            ?.split('/workflows/')[1]
            ?.split('/')[0] ?? '',
        ),
      }),
    );
    expect(faults).toEqual([]);
  });
});

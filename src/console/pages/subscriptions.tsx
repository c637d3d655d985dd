// The subscriptions with the health of their endpoints, and a form for a new one.
import { useState } from 'preact/hooks';
import { get, send } from '../api.ts';
import { Sparkline } from '../charts.tsx';
import { Secret } from '../dialogs.tsx';
import { describeError, formatNumber } from '../format.ts';
import { FormOpener, wordsOf } from '../forms.tsx';
import { useList, useLoaded } from '../hooks.ts';
import { open } from '../router.ts';
import type { CreatedSubscription, DeliveryHours, Subscription } from '../types.ts';
import { Ago, type Column, Empty, Head, Id, RowLink, Status, Table, Words } from '../ui.tsx';

/** The most subscriptions whose hours one request reads. */
const MOST_HOURS = 200;

export function Subscriptions() {
  const list = useList<Subscription>('webhooks', {}, 5_000);
  const [made, setMade] = useState<Made>();
  const ids = list.data?.slice(0, MOST_HOURS).map(({ id }) => id) ?? [];
  const hours = useHours(ids);
  return (
    <>
      <Head title="Subscriptions" about="Where events go, and how the endpoints are.">
        <FormOpener
          label="New subscription…"
          class="primary"
          title="New subscription"
          action="Create"
          fields={{
            url: {
              ...{ label: 'Address', type: 'url', required: true },
              placeholder: 'https://example.com/hooks',
            },
            types: {
              ...{ label: 'Event types', required: true },
              placeholder: 'admin.agent.* commerce.payment.succeeded',
              hint: 'Whole types, or patterns such as admin.agent.*, with spaces between.',
            },
          }}
          run={async ({ url, types }) => {
            const fields = { url, event_types: wordsOf(types) };
            const { body } = await send<CreatedSubscription>('POST', 'webhooks', fields);
            if (body.secret === undefined) open(`subscriptions/${body.id}`);
            else setMade({ id: body.id, secret: body.secret });
          }}
        />
      </Head>
      <Table
        label="Subscriptions"
        list={list}
        keyOf={(subscription) => subscription.id}
        columns={[
          ...ENDPOINT,
          ['Event types', ({ event_types }) => <Words of={event_types} none="none" most={3} />],
          ['24 hours', ({ id }) => <HoursOf id={id} of={hours.data} />],
          WAITING,
          WHY,
          FAILING,
          ['Created', (subscription) => <Ago time={subscription.created_at} />],
          ['Id', (subscription) => <Id value={subscription.id} />],
        ]}
        empty={
          <Empty title="No subscription yet.">Create one: it needs an HTTPS address and event types.</Empty>
        }
      />
      {made !== undefined && (
        <Secret value={made.secret} onClose={() => open(`subscriptions/${made.id}`)}>
          <p>The subscription is created. Its receiver verifies deliveries with this secret:</p>
        </Secret>
      )}
    </>
  );
}

/** The hours of these subscriptions, at most 200. */
export function useHours(ids: readonly string[]) {
  const query = ids.join(',');
  return useLoaded(
    query === '' ? undefined : `hours ${query}`,
    () => get<DeliveryHours>('delivery-hours', { subscription_ids: query }),
    60_000,
  );
}

/** What became of a subscription's deliveries, hour by hour. */
export function HoursOf({ id, of }: { id: string; of: DeliveryHours | undefined }) {
  const row = of?.data.find(({ subscription_id }) => subscription_id === id);
  if (row === undefined) return <>–</>;
  const sum = (numbers: readonly number[]) => formatNumber(numbers.reduce((all, n) => all + n, 0));
  const words = `Last 24 hours: ${sum(row.delivered)} delivered, ${sum(row.failed)} failed`;
  return <Sparkline words={words} good={row.delivered} bad={row.failed} />;
}

/** Columns of an endpoint: how it is, and its address. */
export const ENDPOINT: readonly Column<Subscription>[] = [
  ['Endpoint', ({ endpoint }) => <Status of={endpoint.state} />],
  ['Address', ({ id, url }) => <RowLink page={`subscriptions/${id}`}>{url}</RowLink>, 'clip'],
];
export const WAITING: Column<Subscription> = ['Waiting', ({ endpoint }) => endpoint.waiting, 'number'];
export const WHY: Column<Subscription> = [
  'Why',
  ({ endpoint }) => (endpoint.last_error === null ? '–' : describeError(endpoint.last_error)),
];
export const FAILING: Column<Subscription> = [
  'Failing since',
  ({ endpoint }) => <Ago time={endpoint.failing_since} />,
];

type Made = { readonly id: string; readonly secret: string };

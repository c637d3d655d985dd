// The deliveries of the tenant, read again every few seconds.
import type { ComponentChildren } from 'preact';
import { Field, Filters, Moment, Pick, readFilters } from '../filters.tsx';
import { describeAnswer, shorten } from '../format.ts';
import { useList } from '../hooks.ts';
import { REPLAYABLE, SendAll } from '../replays.tsx';
import { open, type Route } from '../router.ts';
import { DELIVERY_STATUSES, type Delivery, type Subscription } from '../types.ts';
import { Ago, Empty, Head, Id, RowLink, Status, Table, To } from '../ui.tsx';

const EVERY_MS = 4_000;

export function Deliveries({ query }: Route) {
  const filters = readFilters(query, [
    'status',
    'event_type',
    'subscription_id',
    'event_id',
    'since',
    'until',
  ]);
  const list = useList<Delivery>('deliveries', filters, EVERY_MS);
  const subscriptions = useList<Subscription>('webhooks', { limit: 200 });
  const isFiltered = Object.values(filters).some((value) => value !== undefined);
  return (
    <>
      <Head
        title="Deliveries"
        about="Each event, to each subscription that asked for it. Newest first, live."
      >
        <AllAgain of={filters} among={subscriptions.data ?? []} />
      </Head>
      <Filters>
        <Pick name="status" label="Status" options={DELIVERY_STATUSES} query={query} />
        <Pick
          name="subscription_id"
          label="Subscription"
          options={(subscriptions.data ?? []).map(({ id, url }) => [id, url] as const)}
          query={query}
        />
        <Field name="event_type" label="Event type" query={query} first />
        <Field name="event_id" label="Event id" query={query} />
        <Moment name="since" label="Created since" query={query} />
        <Moment name="until" label="Created before" query={query} />
      </Filters>
      <DeliveryTable list={list} subscriptions={subscriptions}>
        {isFiltered ? (
          <Empty title="No delivery is like this.">Change or clear a filter.</Empty>
        ) : (
          <Empty title="Nothing has been sent yet.">
            Create a <To page="subscriptions">subscription</To> and send it a test event.
          </Empty>
        )}
      </DeliveryTable>
    </>
  );
}

/** Sends all of a list again, where the list is of one subscription and of what has ended. */
function AllAgain({
  of: { status, subscription_id: id, ...others },
  among,
}: {
  of: ReturnType<typeof readFilters>;
  among: readonly Subscription[];
}) {
  if (status === undefined || !REPLAYABLE.includes(status)) return null;
  if (id === undefined) return <span class="faint">To send all again, choose a subscription.</span>;
  const isNarrow = Object.values(others).some((value) => value !== undefined);
  if (isNarrow || !among.some((subscription) => subscription.id === id)) return null;
  return (
    <SendAll
      subscription={id}
      status={status}
      label="Send all again…"
      onBegun={() => open(`subscriptions/${id}`)}
    />
  );
}

/**
 * Deliveries as a table; its child is shown when there is none.
 * @param subscriptions for their addresses; absent where all deliveries are of one
 */
export function DeliveryTable({
  list,
  subscriptions,
  children,
}: {
  list: ReturnType<typeof useList<Delivery>>;
  subscriptions?: ReturnType<typeof useList<Subscription>>;
  children: ComponentChildren;
}) {
  return (
    <Table
      label="Deliveries"
      list={list}
      keyOf={(delivery) => delivery.id}
      columns={[
        ['Status', (delivery) => <Status of={delivery.status} />],
        ['Event type', ({ id, event_type }) => <RowLink page={`deliveries/${id}`}>{event_type}</RowLink>],
        subscriptions !== undefined && [
          'Subscription',
          (delivery) => <Target id={delivery.subscription_id} list={subscriptions} />,
          'clip',
        ],
        ['Attempts', (delivery) => delivery.attempt_count, 'number'],
        ['Last answer', describeAnswer],
        ['Next attempt', (delivery) => <Ago time={delivery.next_attempt_at} />],
        ['Created', (delivery) => <Ago time={delivery.created_at} />],
        ['Id', (delivery) => <Id value={delivery.id} />],
      ]}
      empty={children}
    />
  );
}

/** A subscription by its address; one that is gone has none, and no page. */
export function Target({ id, list }: { id: string; list: ReturnType<typeof useList<Subscription>> }) {
  const found = list.data?.find((subscription) => subscription.id === id);
  if (found === undefined && list.data !== undefined && list.more === undefined)
    return (
      <span class="faint" title={id}>
        deleted <code>{shorten(id)}</code>
      </span>
    );
  return (
    <span title={found?.url ?? id}>
      <To page={`subscriptions/${id}`}>{found?.url ?? <code>{shorten(id)}</code>}</To>
    </span>
  );
}

// The deliveries of the tenant, read again every few seconds.
import type { ComponentChildren } from 'preact';
import { get } from '../api.ts';
import { Field, Filters, Moment, Pick, readFilters } from '../filters.tsx';
import { describeAnswer, shorten } from '../format.ts';
import { type Loaded, useList, useLoaded } from '../hooks.ts';
import { REPLAYABLE, SendAll } from '../replays.tsx';
import { open, type Route, setFilters } from '../router.ts';
import { DELIVERY_STATUSES, type Delivery, type Page, type Subscription } from '../types.ts';
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
  const chosen = filters.subscription_id;
  const targets = useTargets([...(chosen === undefined ? [] : [chosen]), ...targetsOf(list.data)]);
  const isFiltered = Object.values(filters).some((value) => value !== undefined);
  return (
    <>
      <Head
        title="Deliveries"
        about="Each event, to each subscription that asked for it. Newest first, live."
      >
        <AllAgain of={filters} among={targets.data?.data ?? []} />
      </Head>
      <Filters>
        <Pick name="status" label="Status" options={DELIVERY_STATUSES} query={query} />
        <ByAddress query={query} of={targets} />
        <Field name="event_type" label="Event type" query={query} first />
        <Field name="event_id" label="Event id" query={query} />
        <Moment name="since" label="Created since" query={query} />
        <Moment name="until" label="Created before" query={query} />
      </Filters>
      <DeliveryTable list={list} targets={targets}>
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
 * @param targets for their addresses; absent where all deliveries are of one
 */
export function DeliveryTable({
  list,
  targets,
  children,
}: {
  list: ReturnType<typeof useList<Delivery>>;
  targets?: Targets;
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
        targets !== undefined && [
          'Subscription',
          (delivery) => <Target id={delivery.subscription_id} among={targets} />,
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

type Targets = Loaded<Page<Subscription>>;

const targetsOf = (deliveries: readonly Delivery[] = []) => deliveries.map(({ subscription_id: id }) => id);
const MOST_TARGETS = 200;
const IS_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The subscriptions with these ids, wherever they are in the list of all. */
function useTargets(ids: readonly string[]): Targets {
  const query = [...new Set(ids)].sort().slice(0, MOST_TARGETS).join(',');
  return useLoaded(query === '' ? undefined : `targets ${query}`, () =>
    get<Page<Subscription>>('webhooks', { ids: query, limit: MOST_TARGETS }),
  );
}

/** A filter by the whole address of a subscription, or by its id. */
function ByAddress({ query, of }: { query: URLSearchParams; of: Targets }) {
  const id = query.get('subscription_id') ?? '';
  const shown = of.data?.data.find((one) => one.id === id)?.url ?? id;
  const take = async (text: string): Promise<void> => {
    if (text === '' || IS_ID.test(text)) return setFilters({ subscription_id: text });
    const { data } = await get<Page<Subscription>>('webhooks', { url: text, limit: 1 });
    setFilters({ subscription_id: data[0]?.id ?? NOBODY });
  };
  return <Field name="subscription_id" label="Subscription" query={query} shown={shown} onTake={take} />;
}

/** No subscription has this id: an address that none has leads to an empty list. */
const NOBODY = '00000000-0000-0000-0000-000000000000';

/** A subscription by its address; one that is gone has none, and no page. */
function Target({ id, among: { data } }: { id: string; among: Targets }) {
  const found = data?.data.find((subscription) => subscription.id === id);
  if (found === undefined && data !== undefined)
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

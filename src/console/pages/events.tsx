// The feed of events, newest first, and a form that publishes one from the catalogue's example.
import { useState } from 'preact/hooks';
import { get, send } from '../api.ts';
import { Confirm, Notice, Opener } from '../dialogs.tsx';
import { Field, Filters } from '../filters.tsx';
import { useList, useLoaded } from '../hooks.ts';
import type { Route } from '../router.ts';
import type { EventFeed, EventType, FeedEvent, Page } from '../types.ts';
import { Ago, Empty, Facts, Head, Id, Json, RowLink, Table, To } from '../ui.tsx';

const EVERY_MS = 8_000;

export function Events({ query }: Route) {
  const type = query.get('type') ?? undefined;
  const list = useList<FeedEvent>('events', { type, order: 'desc', limit: 50 }, EVERY_MS, readPage);
  return (
    <>
      <Head title="Events" about="What happened in the tenant. Newest first, live.">
        <Opener label="Publish…" class="primary">
          {(close) => <Publish onClose={close} onDone={list.reload} />}
        </Opener>
      </Head>
      <Filters>
        <Field name="type" label="Type or pattern" query={query} first />
      </Filters>
      <Table
        label="Events"
        list={list}
        keyOf={(event) => event.event_id}
        columns={[
          ['Type', (event) => <RowLink page={deliveriesOf(event)}>{event.type}</RowLink>],
          ['Occurred', (event) => <Ago time={event.occurred_at} />],
          ['Event id', (event) => <Id value={event.event_id} />],
          ['Data', showData],
        ]}
        empty={
          type === undefined ? (
            <Empty title="No event is kept.">Publish one: events are kept for 30 days.</Empty>
          ) : (
            <Empty title={`No event of this type${list.more === undefined ? '' : ' among the newest'}.`}>
              Change or clear the filter.
            </Empty>
          )
        }
      />
    </>
  );
}

/** The feed goes on by `after`, and always has a cursor. */
async function readPage(
  path: string,
  query: Readonly<Record<string, string | number | undefined>>,
  after: string | undefined,
): Promise<Page<FeedEvent>> {
  const feed: EventFeed = await get(path, { ...query, after });
  return { data: feed.data, next_cursor: feed.has_more ? feed.next_cursor : null };
}

const deliveriesOf = ({ event_id }: FeedEvent): string =>
  `deliveries?event_id=${encodeURIComponent(event_id)}`;

function showData(event: FeedEvent) {
  return (
    <Opener label="Show…" class="small" aria-label={`Show… ${event.type}`}>
      {(close) => (
        <Notice
          title={event.type}
          onClose={close}
          actions={<To page={deliveriesOf(event)}>Its deliveries</To>}
        >
          <Facts
            of={{
              Event: <Id value={event.event_id} whole />,
              Occurred: event.occurred_at,
              Accepted: event.created_at,
            }}
          />
          <Json of={event.data} label="the data" />
        </Notice>
      )}
    </Opener>
  );
}

function Publish({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const { data, error } = useLoaded('event-types', () =>
    get<Page<EventType>>('event-types', { reserved: 'false' }),
  );
  const [type, setType] = useState('');
  const [text, setText] = useState('{}');
  const choose = (name: string): void => {
    setType(name);
    setText(JSON.stringify(data?.data.find((known) => known.type === name)?.example.data ?? {}, null, 2));
  };
  const run = async (): Promise<void> => {
    if (error !== undefined) throw error;
    await send('POST', 'events', { type: type.trim(), data: JSON.parse(text) });
    onDone();
  };
  return (
    <Confirm title="Publish an event" action="Publish" run={run} onClose={onClose}>
      <label>
        Example of the catalogue
        <select value={type} onChange={(event) => choose(event.currentTarget.value)}>
          <option value="">none</option>
          {data?.data.map((known) => (
            <option key={known.type} value={known.type}>
              {known.type}
            </option>
          ))}
        </select>
      </label>
      <label>
        Type
        <input
          required
          value={type}
          spellcheck={false}
          onInput={(event) => setType(event.currentTarget.value)}
        />
      </label>
      <label>
        Data, as JSON
        <textarea
          rows={8}
          spellcheck={false}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
    </Confirm>
  );
}

// The feed of events, newest first, and a form that publishes one from the catalogue's example.
import { useState } from 'preact/hooks';
import { get, send } from '../api.ts';
import { Confirm, Notice, Opener } from '../dialogs.tsx';
import { Field, Filters, Pick } from '../filters.tsx';
import { count } from '../format.ts';
import { useLoaded } from '../hooks.ts';
import type { Route } from '../router.ts';
import type { EventFeed, EventType, FeedEvent, Page } from '../types.ts';
import { Ago, Empty, Facts, Head, Id, Input, Json, RowLink, Table, To } from '../ui.tsx';

const PERIODS = { hour: 3_600_000, day: 86_400_000, week: 604_800_000 } as const;
/** The feed begins with the oldest: of a long period the page reads so many pages. */
const MOST_PAGES = 10;
/** Milliseconds by which the feed may be behind before the page says so. */
const USUAL_LAG = 5_000;

type Read = { readonly events: FeedEvent[]; readonly isWhole: boolean; readonly isBehind: boolean };

export function Events({ query }: Route) {
  const type = query.get('type') ?? undefined;
  const period = query.get('period') ?? 'day';
  const load = (): Promise<Read> => readFeed(type, PERIODS[period as keyof typeof PERIODS] ?? PERIODS.day);
  const { data, error, reload } = useLoaded(`events ${type} ${period}`, load, 8_000);
  return (
    <>
      <Head
        title="Events"
        about={
          <span role="status">
            {data === undefined
              ? 'What happened in the tenant.'
              : `${count(data.events.length, 'event')} in the period.`}
            {data?.isWhole === false && ' Only its first ones are shown: choose a shorter period.'}
            {data?.isBehind && ' The newest are not here yet: a transaction is open in the database.'}
          </span>
        }
      >
        <Opener label="Publish…" class="primary">
          {(close) => <Publish onClose={close} onDone={reload} />}
        </Opener>
      </Head>
      <Filters>
        <Pick
          name="period"
          label="Period"
          none="last day"
          options={[
            ['hour', 'last hour'],
            ['week', 'last week'],
          ]}
          query={query}
        />
        <Field name="type" label="Type or pattern" query={query} first />
      </Filters>
      <Table
        label="Events"
        list={{ data: data?.events, error }}
        keyOf={(event) => event.event_id}
        columns={[
          ['Type', (event) => <RowLink page={deliveriesOf(event)}>{event.type}</RowLink>],
          ['Occurred', (event) => <Ago time={event.occurred_at} />],
          ['Event id', (event) => <Id value={event.event_id} />],
          ['Data', showData],
        ]}
        empty={<Empty title="No event in this period.">Publish one, or choose a longer period.</Empty>}
      />
    </>
  );
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

async function readFeed(type: string | undefined, period: number): Promise<Read> {
  const since = new Date(Date.now() - period).toISOString();
  const events: FeedEvent[] = [];
  let after: string | undefined;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const feed: EventFeed = await get('events', {
      type,
      since: after === undefined ? since : undefined,
      after,
      limit: 200,
    });
    events.push(...feed.data);
    after = feed.next_cursor;
    if (feed.has_more) continue;
    const { read_at: readAt, complete_until: until } = feed;
    const isBehind = until === null || Date.parse(readAt) - Date.parse(until) > USUAL_LAG;
    return { events: events.reverse(), isWhole: true, isBehind };
  }
  return { events: events.reverse(), isWhole: false, isBehind: false };
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
      <Input label="Type" required value={type} spellcheck={false} onType={setType} />
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

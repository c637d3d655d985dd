// The feed of events, newest first, and a form that publishes one from the catalogue's example.
import { useState } from 'preact/hooks';
import { get, send } from '../api.ts';
import { Confirm } from '../confirm.tsx';
import { Field, Filters, Pick } from '../filters.tsx';
import { count } from '../format.ts';
import { useLoaded } from '../hooks.ts';
import type { Route } from '../router.ts';
import type { EventFeed, EventType, FeedEvent, Page } from '../types.ts';
import { Ago, Dialog, Empty, Facts, Head, Id, Json, Table, To } from '../ui.tsx';

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
  const [isPublishing, setPublishing] = useState(false);
  const [shown, setShown] = useState<FeedEvent>();
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
        <button type="button" class="primary" onClick={() => setPublishing(true)}>
          Publish…
        </button>
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
        heads={['Type', 'Occurred', 'Event id', 'Data']}
        rows={data?.events}
        error={error}
        empty={<Empty title="No event in this period.">Publish one, or choose a longer period.</Empty>}
      >
        {(event) => (
          <tr key={event.event_id}>
            <td>
              <To page={`deliveries?event_id=${encodeURIComponent(event.event_id)}`} row>
                {event.type}
              </To>
            </td>
            <td>
              <Ago time={event.occurred_at} />
            </td>
            <td>
              <Id value={event.event_id} />
            </td>
            <td>
              <button
                type="button"
                class="small"
                aria-label={`Show… ${event.type}`}
                onClick={() => setShown(event)}
              >
                Show…
              </button>
            </td>
          </tr>
        )}
      </Table>
      {shown !== undefined && <Details of={shown} onClose={() => setShown(undefined)} />}
      {isPublishing && <Publish onClose={() => setPublishing(false)} onDone={reload} />}
    </>
  );
}

function Details({ of: event, onClose }: { of: FeedEvent; onClose: () => void }) {
  return (
    <Dialog title={event.type} onClose={onClose}>
      <Facts
        of={[
          ['Event', <Id key="id" value={event.event_id} whole />],
          ['Occurred', event.occurred_at],
          ['Accepted', event.created_at],
        ]}
      />
      <Json of={event.data} label="the data" />
      <div class="buttons">
        <To page={`deliveries?event_id=${encodeURIComponent(event.event_id)}`}>Its deliveries</To>
        <button type="button" class="primary" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
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

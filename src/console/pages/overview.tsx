// The first page: the standing's sentence and numbers, the endpoints in trouble, and then how much goes out.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { get } from '../api.ts';
import { barsOfDays, barsOfHours, firstDay, OutcomeChart } from '../charts.tsx';
import { describeError, formatClock, formatNumber } from '../format.ts';
import { type Loaded, useList, useLoaded } from '../hooks.ts';
import { SendAll } from '../replays.tsx';
import { open } from '../router.ts';
import type { DeliveryAccount, DeliveryHours, Standing, Subscription } from '../types.ts';
import { Ago, Empty, Head, NotLoaded, Part, RowLink, Status, Table, To, Waiting } from '../ui.tsx';
import { FirstSteps } from './first-steps.tsx';
import { ENDPOINT, FAILING, WAITING, WHY } from './subscriptions.tsx';

const EVERY_MS = 10_000;
/** Rows of a table that are shown before somebody asks for more. */
const FIRST = 10;

type State = Standing['states'][number];

export function Overview({ tenant }: { tenant: string }) {
  const standing = useLoaded('standing', () => get<Standing>('standing'), EVERY_MS);
  const { data } = standing;
  const troubled = data?.states.filter(({ severity }) => severity !== 'none') ?? [];
  return (
    <>
      <Head
        title={tenant}
        about={
          <span aria-live="polite">
            {data === undefined ? '…' : <Status of={data.severity} word={data.summary} />}
          </span>
        }
      />
      {data === undefined && standing.error !== undefined && <NotLoaded error={standing.error} />}
      <div class="tiles">
        <Tile page="subscriptions" name="Endpoints in trouble" value={show(data?.in_trouble)} />
        <Tile page="deliveries" name="Deliveries waiting" value={show(data?.waiting)} />
        <Tile page="deliveries" name="Oldest waiting" value={data && <Ago time={data.oldest_waiting_at} />} />
        <Tile
          page="deliveries?status=failed"
          name="Failed in 24 hours"
          value={show(data?.failed_in_24_hours.deliveries)}
        />
        <Tile page="subscriptions" name="Subscriptions" value={show(data?.subscriptions)} />
      </div>
      {troubled.map((of) => (
        <Trouble key={`${of.state} ${of.severity}`} of={of} />
      ))}
      {data !== undefined && data.failed_in_24_hours.groups > 0 && (
        <FailureTable of={data.failed_in_24_hours} />
      )}
      <FirstSteps subscriptions={data?.subscriptions} />
      <Outcomes />
    </>
  );
}

const show = (value: number | undefined) => (value === undefined ? undefined : formatNumber(value));

/** The subscriptions of one state and severity, as many as somebody asks for. */
function Trouble({ of }: { of: State }) {
  const { state, severity, subscriptions, streams, waiting, oldest_canceled_at: canceled } = of;
  const all = subscriptions - streams;
  const list = useList<Subscription>(
    all > 0 ? 'webhooks' : undefined,
    { state, severity, limit: FIRST },
    EVERY_MS,
  );
  const why = state === 'open' || state === 'releasing' ? ' with many failures' : '';
  const title = `${formatNumber(subscriptions)} ${state}${why}`;
  return (
    <Part
      title={<Status of={severity} word={title} />}
      note={
        <>
          {waiting === 0 ? 'Nothing waits' : `${formatNumber(waiting)} waiting`}
          {state === 'inactive' &&
            canceled !== null &&
            `, the oldest is canceled on ${formatClock(canceled)}`}
          {streams > 0 && (
            <>
              {' · '}
              <To page="streams">{`${formatNumber(streams)} of them streams`}</To>
            </>
          )}
        </>
      }
    >
      {all > 0 && (
        <Table
          label={`${state}, ${severity}`}
          list={list}
          keyOf={(subscription) => subscription.id}
          columns={[...ENDPOINT, WHY, WAITING, FAILING]}
          empty={<Empty title="None any more." />}
        />
      )}
    </Part>
  );
}

/** Equal failures are one row, with what sends them again; those of most deliveries first. */
function FailureTable({ of }: { of: Standing['failed_in_24_hours'] }) {
  const largest = of.largest.slice(0, FIRST);
  const more = of.groups - largest.length;
  return (
    <Part
      title="Failed for good in 24 hours"
      note={
        <>
          {more > 0 && `the largest ${formatNumber(largest.length)} of ${formatNumber(of.groups)} · `}
          <To page="deliveries?status=failed">all</To>
        </>
      }
    >
      <Table
        label="Failed deliveries"
        list={{ data: largest }}
        keyOf={({ subscription_id, answer }) => `${subscription_id} ${answer}`}
        columns={[
          [
            'Failed',
            ({ deliveries, subscription_id }) => (
              <RowLink page={`deliveries?status=failed&subscription_id=${subscription_id}`}>
                {formatNumber(deliveries)}
              </RowLink>
            ),
            'number',
          ],
          ['Answer', ({ answer }) => describeError(answer)],
          [
            'Subscription',
            ({ url, subscription_id }) =>
              url === null ? (
                <span class="faint">deleted, or a stream</span>
              ) : (
                <To page={`subscriptions/${subscription_id}`}>{url}</To>
              ),
            'clip',
          ],
          ['First', ({ first_at }) => <Ago time={first_at} />],
          ['Last', ({ last_at }) => <Ago time={last_at} />],
          [
            'Action',
            ({ active, subscription_id }) =>
              active && (
                <SendAll
                  subscription={subscription_id}
                  status="failed"
                  label="Send all again…"
                  onBegun={() => open(`subscriptions/${subscription_id}`)}
                />
              ),
          ],
        ]}
        empty={null}
      />
    </Part>
  );
}

/** One chart at a time: two would have been counted at two times. */
function Outcomes() {
  const [isOfDays, setOfDays] = useState(false);
  return (
    <Part
      title={isOfDays ? 'Deliveries of 14 days' : 'Deliveries of 24 hours'}
      note={
        <>
          {isOfDays ? 'by the UTC day of acceptance · ' : 'by the hour of acceptance · '}
          <button type="button" class="small" onClick={() => setOfDays(!isOfDays)}>
            {isOfDays ? '24 hours' : '14 days'}
          </button>
        </>
      }
    >
      {isOfDays ? <Days /> : <Hours />}
    </Part>
  );
}

function Hours() {
  const hours = useLoaded('hours', () => get<DeliveryHours>('delivery-hours'), 60_000);
  if (hours.data === undefined) return <NotYet of={hours} />;
  return <OutcomeChart title="Deliveries of each hour by outcome" bars={barsOfHours(hours.data)} />;
}

function Days() {
  const accounts = useLoaded(
    'accounts',
    () => get<{ data: readonly DeliveryAccount[] }>('delivery-accounts', { since: firstDay() }),
    60_000,
  );
  if (accounts.data === undefined) return <NotYet of={accounts} />;
  if (accounts.data.data.length === 0)
    return <Empty title="No day is counted yet.">The first one is, within 15 minutes.</Empty>;
  return <OutcomeChart title="Deliveries of each day by outcome" bars={barsOfDays(accounts.data.data)} />;
}

const NotYet = ({ of: { error } }: { of: Loaded<unknown> }) =>
  error === undefined ? <Waiting rows={4} /> : <NotLoaded error={error} />;

function Tile({ page, name, value }: { page: string; name: string; value: ComponentChildren }) {
  return (
    <To page={page}>
      <strong>{value ?? '–'}</strong>
      <span>{name}</span>
    </To>
  );
}

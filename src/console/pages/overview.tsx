// The first page: a verdict on the tenant, the outcomes of its deliveries, and their failures.
import { get } from '../api.ts';
import { barsOfDays, barsOfHours, firstDay, OutcomeChart } from '../charts.tsx';
import { formatNumber } from '../format.ts';
import { useList, useLoaded } from '../hooks.ts';
import { groupFailures, measureRecent } from '../recent.ts';
import { SendAll } from '../replays.tsx';
import { open } from '../router.ts';
import { isTroubled, judgeTenant } from '../trouble.ts';
import type { Delivery, DeliveryAccount, DeliveryHours, Subscription } from '../types.ts';
import { Ago, Empty, Head, NotLoaded, Part, RowLink, Status, Table, To, Waiting } from '../ui.tsx';
import { Target } from './deliveries.tsx';
import { FirstSteps } from './first-steps.tsx';
import { ENDPOINT, FAILING, WAITING, WHY } from './subscriptions.tsx';

const EVERY_MS = 10_000;
const MOST_FAILED = 100;
const NEWEST = 200;
const OF_NEWEST = `of the newest ${NEWEST}`;

export function Overview({ tenant }: { tenant: string }) {
  const accounts = useLoaded(
    'accounts',
    () => get<{ data: readonly DeliveryAccount[] }>('delivery-accounts', { since: firstDay() }),
    60_000,
  );
  const hours = useLoaded('hours', () => get<DeliveryHours>('delivery-hours'), 60_000);
  const subscriptions = useList<Subscription>('webhooks', { limit: 200 }, EVERY_MS);
  const failed = useList<Delivery>('deliveries', { status: 'failed', limit: MOST_FAILED }, EVERY_MS);
  const newest = useList<Delivery>('deliveries', { limit: NEWEST }, 60_000);
  const recent = newest.data && measureRecent(newest.data);
  const troubled = subscriptions.data?.filter(isTroubled);
  const waiting = subscriptions.data?.reduce((sum, { endpoint }) => sum + endpoint.waiting, 0);
  return (
    <>
      <Head title={tenant} about={<Verdict subscriptions={subscriptions.data} failed={failed} />} />
      <div class="tiles">
        <Tile page="subscriptions" name="Waiting deliveries" value={show(waiting)} />
        <Tile page="subscriptions" name="Endpoints in trouble" value={show(troubled?.length)} />
        <Tile page="subscriptions" name="Subscriptions" value={show(subscriptions.data?.length)} />
        <Tile page="deliveries" name={`Arrived, ${OF_NEWEST}`} value={recent?.arrived} />
        <Tile page="deliveries" name="Half of them within" value={recent?.half} />
        <Tile page="deliveries" name="95 % of them within" value={recent?.most} />
      </div>
      <FirstSteps subscriptions={subscriptions.data} deliveries={newest.data} />
      <Part
        title="Deliveries of the last 24 hours"
        note="by the hour of acceptance; the last two are counted each minute"
      >
        {hours.data === undefined ? (
          <NotYet error={hours.error} />
        ) : (
          <OutcomeChart title="Deliveries of each hour by outcome" bars={barsOfHours(hours.data)} />
        )}
      </Part>
      <Part
        title="Deliveries of 14 days"
        note="by the UTC day of acceptance; today is counted every 15 minutes"
      >
        {accounts.data === undefined ? (
          <NotYet error={accounts.error} />
        ) : accounts.data.data.length === 0 ? (
          <Empty title="No day is counted yet.">The first one is, within 15 minutes.</Empty>
        ) : (
          <OutcomeChart title="Deliveries of each day by outcome" bars={barsOfDays(accounts.data.data)} />
        )}
      </Part>
      <Part title="Endpoints in trouble">
        <Table
          label="Endpoints in trouble"
          list={{ data: troubled, error: subscriptions.error }}
          keyOf={(subscription) => subscription.id}
          columns={[...ENDPOINT, WHY, WAITING, FAILING]}
          empty={
            subscriptions.data?.length === 0 ? (
              <Empty title="No subscription yet.">
                Create a <To page="subscriptions">subscription</To> and send it a test event.
              </Empty>
            ) : (
              <Empty title="No endpoint is in trouble." />
            )
          }
        />
      </Part>
      <Part title="Failed deliveries" note={<To page="deliveries?status=failed">all</To>}>
        <FailureTable failed={failed} subscriptions={subscriptions} />
      </Part>
    </>
  );
}

const NotYet = ({ error }: { error: unknown }) =>
  error === undefined ? <Waiting rows={4} /> : <NotLoaded error={error} />;

const show = (value: number | undefined) => (value === undefined ? undefined : formatNumber(value));

/** Whether all is right, in a sentence. */
function Verdict({
  subscriptions,
  failed,
}: {
  subscriptions: readonly Subscription[] | undefined;
  failed: ReturnType<typeof useList<Delivery>>;
}) {
  if (subscriptions === undefined || failed.data === undefined) return <span>…</span>;
  const { tone, words } = judgeTenant(
    subscriptions,
    {
      failedAt: failed.data.map(({ completed_at }) => completed_at ?? ''),
      hasMore: failed.more !== undefined,
    },
    Date.now(),
  );
  return (
    <span aria-live="polite">
      <Status of={tone} word={words} />
    </span>
  );
}

/** Equal failures are one row, with what sends them again. */
function FailureTable({
  failed,
  subscriptions,
}: {
  failed: ReturnType<typeof useList<Delivery>>;
  subscriptions: ReturnType<typeof useList<Subscription>>;
}) {
  const known = new Set(subscriptions.data?.map(({ id }) => id));
  return (
    <Table
      label="Failed deliveries"
      list={{ data: failed.data && groupFailures(failed.data), error: failed.error }}
      keyOf={({ subscription, answer }) => `${subscription} ${answer}`}
      columns={[
        [
          'Failed',
          ({ count, subscription }) => (
            <RowLink page={`deliveries?status=failed&subscription_id=${subscription}`}>
              {formatNumber(count)}
              {failed.more !== undefined && ' or more'}
            </RowLink>
          ),
          'number',
        ],
        ['Answer', ({ answer }) => answer],
        ['Subscription', ({ subscription }) => <Target id={subscription} list={subscriptions} />, 'clip'],
        ['First', ({ first }) => <Ago time={first} />],
        ['Last', ({ last }) => <Ago time={last} />],
        [
          'Action',
          ({ subscription }) =>
            known.has(subscription) && (
              <SendAll
                subscription={subscription}
                status="failed"
                label="Send all again…"
                onBegun={() => open(`subscriptions/${subscription}`)}
              />
            ),
        ],
      ]}
      empty={<Empty title="No delivery has failed." />}
    />
  );
}

function Tile({ page, name, value }: { page: string; name: string; value: string | undefined }) {
  return (
    <To page={page}>
      <strong>{value ?? '–'}</strong>
      <span>{name}</span>
    </To>
  );
}

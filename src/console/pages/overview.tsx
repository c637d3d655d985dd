// The first page: outcomes of the deliveries, endpoints that fail, and waiting deliveries.
import { get } from '../api.ts';
import { firstDay, OutcomeChart } from '../charts.tsx';
import { formatNumber } from '../format.ts';
import { useList, useLoaded } from '../hooks.ts';
import type { Delivery, DeliveryAccount, Subscription } from '../types.ts';
import { Empty, Failure, Head, Part, Table, To, Waiting } from '../ui.tsx';
import { DeliveryTable } from './deliveries.tsx';
import { ENDPOINT, FAILING, WAITING, WHY } from './subscriptions.tsx';

const EVERY_MS = 10_000;

export function Overview({ tenant }: { tenant: string }) {
  const accounts = useLoaded(
    'accounts',
    () => get<{ data: readonly DeliveryAccount[] }>('delivery-accounts', { since: firstDay() }),
    60_000,
  );
  const subscriptions = useList<Subscription>('webhooks', { limit: 200 }, EVERY_MS);
  const failed = useList<Delivery>('deliveries', { status: 'failed', limit: 8 }, EVERY_MS);
  const troubled = subscriptions.data?.filter(({ endpoint }) => endpoint.state !== 'open');
  const waiting = subscriptions.data?.reduce((sum, { endpoint }) => sum + endpoint.waiting, 0);
  return (
    <>
      <Head title={tenant} about="What became of the deliveries, and what needs somebody." />
      <div class="tiles">
        <Tile page="subscriptions" name="Waiting deliveries" value={waiting} />
        <Tile page="subscriptions" name="Endpoints in trouble" value={troubled?.length} />
        <Tile page="subscriptions" name="Subscriptions" value={subscriptions.data?.length} />
      </div>
      <Part title="Deliveries" note="by the UTC day of acceptance; today is counted every 15 minutes">
        {accounts.data?.data.length === 0 ? (
          <Empty title="Nothing is counted yet.">
            The first deliveries of a day are counted within 15 minutes; <To page="deliveries">the list</To>{' '}
            has them now.
          </Empty>
        ) : accounts.data !== undefined ? (
          <OutcomeChart accounts={accounts.data.data} />
        ) : accounts.error === undefined ? (
          <Waiting rows={4} />
        ) : (
          <Failure error={accounts.error} />
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
              <Empty title="All endpoints take deliveries." />
            )
          }
        />
      </Part>
      <Part title="Failed deliveries" note={<To page="deliveries?status=failed">all</To>}>
        <DeliveryTable list={{ ...failed, more: undefined }} subscriptions={subscriptions}>
          <Empty title="No delivery has failed." />
        </DeliveryTable>
      </Part>
    </>
  );
}

function Tile({ page, name, value }: { page: string; name: string; value: number | undefined }) {
  return (
    <To page={page}>
      <strong>{value === undefined ? '–' : formatNumber(value)}</strong>
      <span>{name}</span>
    </To>
  );
}

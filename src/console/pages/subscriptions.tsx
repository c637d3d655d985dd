// The subscriptions with the health of their endpoints, and a form for a new one.
import { useState } from 'preact/hooks';
import { send } from '../api.ts';
import { Confirm, Opener, Secret } from '../dialogs.tsx';
import { count, describeError } from '../format.ts';
import { useList } from '../hooks.ts';
import { open } from '../router.ts';
import type { CreatedSubscription, Subscription } from '../types.ts';
import { Ago, type Column, Empty, Head, Id, Input, RowLink, Status, Table, Words } from '../ui.tsx';

export function Subscriptions() {
  const list = useList<Subscription>('webhooks', {}, 5_000);
  const [made, setMade] = useState<Made>();
  return (
    <>
      <Head title="Subscriptions" about="Where events go, and how the endpoints are.">
        <Opener label="New subscription…" class="primary">
          {(close) => <Create onClose={close} onMade={setMade} />}
        </Opener>
      </Head>
      <Table
        label="Subscriptions"
        list={list}
        keyOf={(subscription) => subscription.id}
        columns={[
          ...ENDPOINT,
          ['Event types', ({ event_types }) => <Words of={event_types} none="none" most={3} />],
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

/** Columns of an endpoint: how it is, and its address. */
export const ENDPOINT: readonly Column<Subscription>[] = [
  ['Endpoint', ({ endpoint }) => <Status of={endpoint.state} />],
  ['Address', ({ id, url }) => <RowLink page={`subscriptions/${id}`}>{url}</RowLink>, 'clip'],
];
export const WAITING: Column<Subscription> = ['Waiting', ({ endpoint }) => endpoint.waiting];
export const WHY: Column<Subscription> = [
  'Why',
  ({ endpoint }) => (endpoint.last_error === null ? '–' : describeError(endpoint.last_error)),
];
export const FAILING: Column<Subscription> = [
  'Failing since',
  ({ endpoint }) => <Ago time={endpoint.failing_since} />,
];

type Made = { readonly id: string; readonly secret: string };

function Create({ onClose, onMade }: { onClose: () => void; onMade: (made: Made) => void }) {
  const [url, setUrl] = useState('');
  const [types, setTypes] = useState('');
  const words = types.split(/[\s,]+/).filter(Boolean);
  const run = async (): Promise<void> => {
    const { body } = await send<CreatedSubscription>('POST', 'webhooks', {
      url: url.trim(),
      event_types: words,
    });
    if (body.secret === undefined) open(`subscriptions/${body.id}`);
    else onMade({ id: body.id, secret: body.secret });
  };
  return (
    <Confirm title="New subscription" action="Create" run={run} onClose={onClose}>
      <label>
        Address
        <input
          type="url"
          required
          value={url}
          placeholder="https://example.com/hooks"
          onInput={(event) => setUrl(event.currentTarget.value)}
        />
      </label>
      <Input
        label="Event types"
        required
        value={types}
        placeholder="admin.agent.* commerce.payment.succeeded"
        spellcheck={false}
        onType={setTypes}
      />
      <p class="faint">
        {words.length === 0
          ? 'Whole types, or patterns such as admin.agent.*, with spaces between.'
          : count(words.length, 'type or pattern', 'types or patterns')}
      </p>
    </Confirm>
  );
}

// The subscriptions with the health of their endpoints, and a form for a new one.
import { useState } from 'preact/hooks';
import { send } from '../api.ts';
import { Confirm } from '../confirm.tsx';
import { count } from '../format.ts';
import { useList } from '../hooks.ts';
import { open } from '../router.ts';
import { Secret } from '../secret.tsx';
import type { CreatedSubscription, Subscription } from '../types.ts';
import { Ago, Empty, Head, Id, Status, Table, To, Words } from '../ui.tsx';

export function Subscriptions() {
  const list = useList<Subscription>('webhooks', {}, 5_000);
  const [isCreating, setCreating] = useState(false);
  const [made, setMade] = useState<{ id: string; secret: string }>();
  return (
    <>
      <Head title="Subscriptions" about="Where events go, and how the endpoints are.">
        <button type="button" class="primary" onClick={() => setCreating(true)}>
          New subscription…
        </button>
      </Head>
      <Table
        label="Subscriptions"
        heads={['Endpoint', 'Address', 'Event types', 'Waiting', 'Failing since', 'Created', 'Id']}
        rows={list.data}
        error={list.error}
        more={list.more}
        empty={
          <Empty title="No subscription yet.">Create one: it needs an HTTPS address and event types.</Empty>
        }
      >
        {(subscription) => (
          <tr key={subscription.id}>
            <EndpointCells of={subscription} />
            <td>
              <Words of={subscription.event_types.slice(0, 3)} none="none" />
              {subscription.event_types.length > 3 && (
                <span class="faint"> +{subscription.event_types.length - 3}</span>
              )}
            </td>
            <td>{subscription.endpoint.waiting}</td>
            <td>
              <Ago time={subscription.endpoint.failing_since} />
            </td>
            <td>
              <Ago time={subscription.created_at} />
            </td>
            <td>
              <Id value={subscription.id} />
            </td>
          </tr>
        )}
      </Table>
      {isCreating && <Create onClose={() => setCreating(false)} onMade={setMade} />}
      {made !== undefined && (
        <Secret value={made.secret} onClose={() => open(`subscriptions/${made.id}`)}>
          <p>The subscription is created. Its receiver verifies deliveries with this secret:</p>
        </Secret>
      )}
    </>
  );
}

/** The state of a subscription's endpoint. */
export function Health({ of: { active, endpoint, disabled_reason } }: { of: Subscription }) {
  if (!active) return <Status of="paused" word={disabled_reason === null ? 'paused' : 'disabled'} />;
  if (endpoint.failing_since !== null && endpoint.state === 'open')
    return <Status of="held" word="failing" />;
  return <Status of={endpoint.state} />;
}

/** How an endpoint is, and its address, as two cells of a row. */
export function EndpointCells({ of: subscription }: { of: Subscription }) {
  return (
    <>
      <td>
        <Health of={subscription} />
      </td>
      <td class="clip">
        <To page={`subscriptions/${subscription.id}`} row>
          {subscription.url}
        </To>
      </td>
    </>
  );
}

function Create({
  onClose,
  onMade,
}: {
  onClose: () => void;
  onMade: (made: { id: string; secret: string }) => void;
}) {
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
      <label>
        Event types
        <input
          required
          value={types}
          placeholder="admin.agent.* commerce.payment.succeeded"
          spellcheck={false}
          onInput={(event) => setTypes(event.currentTarget.value)}
        />
      </label>
      <p class="faint">
        {words.length === 0
          ? 'Whole types, or patterns such as admin.agent.*, with spaces between.'
          : count(words.length, 'type or pattern', 'types or patterns')}
      </p>
    </Confirm>
  );
}

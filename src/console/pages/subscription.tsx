// One subscription: its endpoint's health, its settings, its deliveries, and what can be done with it.
import { useState } from 'preact/hooks';
import { get, send } from '../api.ts';
import { Ask, Secret } from '../dialogs.tsx';
import { count, describeError, formatClock, formatDuration, formatNumber } from '../format.ts';
import { useAction, useList, useLoaded } from '../hooks.ts';
import { Replays, SendAll } from '../replays.tsx';
import { open } from '../router.ts';
import { describeTrouble } from '../trouble.ts';
import type { Delivery, DeliveryHours, RotatedSecret, SubscriptionDetails, TestDelivery } from '../types.ts';
import { Ago, Empty, Facts, Failure, Head, Id, Part, Pending, Status, Table, To, Words } from '../ui.tsx';
import { DeliveryTable } from './deliveries.tsx';
import { HoursOf, useHours } from './subscriptions.tsx';

const BODIES = {
  plain: 'JSON',
  'cloudevents-structured': 'CloudEvents, structured',
  'cloudevents-binary': 'CloudEvents, binary',
} as const;

export function SubscriptionPage({ id }: { id: string }) {
  const path = `webhooks/${encodeURIComponent(id)}`;
  const loaded = useLoaded(path, () => get<SubscriptionDetails>(path), 4_000);
  const list = useList<Delivery>('deliveries', { subscription_id: id, limit: 20 }, 4_000);
  const [rotated, setRotated] = useState<RotatedSecret>();
  const [begun, setBegun] = useState(0);
  const doing = useAction();
  const hours = useHours([id]);
  const subscription = loaded.data;
  if (subscription === undefined)
    return <Pending title="Subscription" error={loaded.error} list="subscriptions" />;
  const failed = subscription.endpoint.failures.reduce((sum, { failed }) => sum + failed, 0);
  const set = (active: boolean): Promise<void> => send('PUT', path, { active }).then(loaded.reload);
  const test = (): Promise<void> =>
    send<TestDelivery>('POST', `${path}/test`, {}).then(({ body }) => open(`deliveries/${body.delivery_id}`));
  const rotate = (): Promise<void> =>
    send<RotatedSecret>('POST', `${path}/secret/rotate`, {}).then(({ body }) => {
      setRotated(body);
      loaded.reload();
    });
  return (
    <>
      <Head
        title={subscription.url}
        about={
          <span aria-live="polite">
            <Status of={subscription.endpoint.state} />
            {subscription.description !== null && ` · ${subscription.description}`}
          </span>
        }
      >
        {isClosed(subscription) && (
          <button
            type="button"
            class="primary"
            disabled={doing.busy}
            title="Sends one delivery; the others follow if it is taken"
            onClick={() => void doing.run(() => send('POST', `${path}/probe`, {})).then(loaded.reload)}
          >
            Try now
          </button>
        )}
        {failed > 0 && (
          <SendAll
            subscription={id}
            status="failed"
            label={`Send all ${formatNumber(failed)} again…`}
            onBegun={() => setBegun(begun + 1)}
          />
        )}
        <button type="button" disabled={doing.busy} onClick={() => void doing.run(test)}>
          Send test
        </button>
        <Ask label="Rotate secret…" title="Rotate the signing secret?" action="Rotate secret" run={rotate}>
          <p>
            A new secret is made and shown once. For a time both are good, so that the receiver can change.
          </p>
        </Ask>
        {subscription.active ? (
          <Ask label="Pause…" title="Pause this subscription?" action="Pause" run={() => set(false)}>
            <p>
              No attempt begins until it is resumed. New events wait too, and then go out, the oldest first.
            </p>
          </Ask>
        ) : (
          <button type="button" class="primary" onClick={() => void doing.run(() => set(true))}>
            Resume
          </button>
        )}
        {subscription.endpoint.waiting > 0 && (
          <Ask
            label="Cancel waiting…"
            danger
            title="Cancel all waiting deliveries?"
            action="Cancel deliveries"
            run={() => send('POST', `${path}/deliveries/cancel`, {}).then(loaded.reload)}
          >
            <p>
              No further attempt is made of {count(subscription.endpoint.waiting, 'delivery', 'deliveries')}.
              An attempt that is under way may still arrive. New events are delivered as usual.
            </p>
          </Ask>
        )}
        <Delete path={path} waiting={subscription.endpoint.waiting} />
      </Head>
      <Failure error={doing.error ?? loaded.error} />
      <Trouble of={subscription} />
      <Replays subscription={id} turn={begun} />
      <Settings id={id} of={subscription} hours={hours.data} />
      <Part
        title="Deliveries"
        note={
          <>
            <To page={`deliveries?subscription_id=${id}`}>all</To>{' '}
            <To page={`deliveries?subscription_id=${id}&status=failed`}>failed</To>
          </>
        }
      >
        <DeliveryTable list={list}>
          <Empty title="Nothing was sent here yet.">Send a test to see what arrives.</Empty>
        </DeliveryTable>
      </Part>
      {rotated?.secret !== undefined && (
        <Secret value={rotated.secret} onClose={() => setRotated(undefined)}>
          <p>Give the receiver the new secret before {formatClock(rotated.overlap_ends_at)}.</p>
        </Secret>
      )}
    </>
  );
}

/** @param id as it is in the address of the page */
function Settings({
  id,
  of,
  hours,
}: {
  id: string;
  of: SubscriptionDetails;
  hours: DeliveryHours | undefined;
}) {
  return (
    <Facts
      of={{
        Subscription: <Id value={id} whole />,
        '24 hours': <HoursOf id={id} of={hours} />,
        Waiting: count(of.endpoint.waiting, 'delivery', 'deliveries'),
        'Next probe': <Ago time={of.endpoint.next_probe_at} />,
        'Event types': <Words of={of.event_types} none="none" />,
        Signatures: <Words of={of.signatures} none="none" />,
        Retries: of.retry_policy.delays_seconds.map((seconds) => formatDuration(seconds * 1_000)).join(', '),
        Body: BODIES[of.envelope],
        Secret:
          of.secret_overlap_ends_at === null
            ? 'no rotation under way'
            : `both secrets are good until ${formatClock(of.secret_overlap_ends_at)}`,
      }}
    />
  );
}

function Delete({ path, waiting }: { path: string; waiting: number }) {
  const lost = `Its ${count(waiting, 'waiting delivery', 'waiting deliveries')} are canceled, and its secret ends.`;
  return (
    <Ask
      label="Delete…"
      danger
      title="Delete this subscription?"
      action="Delete subscription"
      run={() => send('DELETE', path).then(() => open('subscriptions'))}
    >
      <p>
        {waiting === 0 ? 'Nothing more is sent to it, and its secret ends.' : lost} To hold deliveries, pause
        it instead.
      </p>
    </Ask>
  );
}

/** Whether the tenant can open the endpoint for one delivery. */
function isClosed({ endpoint: { state, held_by: holder, waiting } }: SubscriptionDetails): boolean {
  return (state === 'down' || (state === 'held' && holder !== 'operator')) && waiting > 0;
}

/** Why the endpoint is in trouble, what it has failed with, and what comes next. */
function Trouble({ of }: { of: SubscriptionDetails }) {
  const sentence = describeTrouble(of);
  return (
    <>
      {sentence !== '' && (
        <p class="trouble" aria-live="polite">
          {sentence}
        </p>
      )}
      {of.endpoint.failures.length > 0 && (
        <Table
          label="Failures"
          list={{ data: of.endpoint.failures }}
          keyOf={({ error }) => error}
          columns={[
            ['Failed with', ({ error }) => describeError(error)],
            ['Waiting', ({ waiting }) => formatNumber(waiting)],
            ['Failed for good in 24 h', ({ failed }) => formatNumber(failed)],
          ]}
          empty={null}
        />
      )}
    </>
  );
}

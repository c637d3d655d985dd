// One delivery: what was sent, each attempt with its phases, and what comes next.
import { get, send } from '../api.ts';
import { Phases } from '../charts.tsx';
import { Ask } from '../dialogs.tsx';
import { count, describeEnd, describeError, formatClock, formatDuration } from '../format.ts';
import { useAction, useLoaded } from '../hooks.ts';
import type { Attempt, DeliveryDetails, Subscription } from '../types.ts';
import { Ago, Clock, Empty, Facts, Failure, Head, Id, Json, Part, Pending, Status, To } from '../ui.tsx';

const EVERY_MS = 2_000;
const NO_WORKFLOW = {
  settled_at_first_attempt: 'None: the first attempt settled it.',
  settled_at_early_retry: 'None: an early retry settled it.',
  not_tried: 'None yet: no attempt was made.',
  ended_untried: 'None: it ended before an attempt.',
  not_started: 'None yet: it is about to start.',
} as const;

export function DeliveryPage({ id }: { id: string }) {
  const path = `deliveries/${encodeURIComponent(id)}`;
  const loaded = useLoaded(path, () => get<DeliveryDetails>(path), EVERY_MS);
  const delivery = loaded.data;
  const target = delivery?.subscription_id;
  const { data: subscription } = useLoaded(target && `webhooks/${target}`, () =>
    get<Subscription>(`webhooks/${target}`),
  );
  const retry = useAction();
  if (delivery === undefined) return <Pending title="Delivery" error={loaded.error} list="deliveries" />;
  const hasEnded = delivery.completed_at !== null;
  return (
    <>
      <Head
        title={delivery.event_type}
        about={
          <span aria-live="polite">
            <Status of={delivery.status} /> · {count(delivery.attempt_count, 'attempt')} · created{' '}
            <Ago time={delivery.created_at} />
          </span>
        }
      >
        <button
          type="button"
          disabled={retry.busy}
          onClick={() => void retry.run(() => send('POST', `${path}/retry`, {})).then(loaded.reload)}
        >
          {hasEnded ? 'Send again' : 'Retry now'}
        </button>
        <Ask
          label="Cancel"
          disabled={hasEnded}
          title="Cancel this delivery?"
          action="Cancel delivery"
          danger
          run={() => send('POST', `${path}/cancel`, {}).then(loaded.reload)}
        >
          <p>No further attempt is made. An attempt that is under way may still arrive.</p>
        </Ask>
      </Head>
      <Failure error={retry.error ?? loaded.error} />
      <Facts
        of={{
          Delivery: <Id value={delivery.id} whole />,
          Event: (
            <To page={`deliveries?event_id=${encodeURIComponent(delivery.event_id)}`}>{delivery.event_id}</To>
          ),
          Subscription: (
            <To page={`subscriptions/${delivery.subscription_id}`}>
              {subscription?.url ?? delivery.subscription_id}
            </To>
          ),
          Workflow: <Workflow of={delivery} />,
        }}
      />
      <Part title="Timeline">
        <ol class="timeline">
          {delivery.attempts.map((attempt) => (
            <AttemptEntry key={`${attempt.number} ${attempt.started_at}`} attempt={attempt} />
          ))}
          <Next delivery={delivery} subscription={subscription} />
        </ol>
      </Part>
      <Part title="Payload" note="as it is sent">
        {delivery.payload === null ? (
          <Empty title="The payload is no longer kept." />
        ) : (
          <Json of={delivery.payload} label="the payload" />
        )}
      </Part>
    </>
  );
}

type WorkflowProps = { of: DeliveryDetails };

function Workflow({ of: { workflow_id: id, workflow_url: url, workflow_reason: reason } }: WorkflowProps) {
  if (url === null) return <span class="faint">{reason === null ? 'None.' : NO_WORKFLOW[reason]}</span>;
  return (
    <a href={url} target="_blank" rel="noreferrer">
      {id?.startsWith('endpoint/') ? 'Open its endpoint in Temporal' : 'Open in Temporal'}
    </a>
  );
}

function AttemptEntry({ attempt }: { attempt: Attempt }) {
  const isGood = attempt.error === null;
  return (
    <li class={isGood ? 'good' : 'bad'}>
      <div class="line">
        <Status of={isGood ? 'delivered' : 'failed'} word={`Attempt ${attempt.number}`} />
        <strong>
          {attempt.status_code === null ? describeError(attempt.error ?? '') : `HTTP ${attempt.status_code}`}
        </strong>
        <span class="faint">
          <Clock time={attempt.started_at} /> · {formatDuration(attempt.duration_ms)}
        </span>
        {attempt.retry_after_seconds !== null && (
          <span class="status wait">Retry-After {formatDuration(attempt.retry_after_seconds * 1_000)}</span>
        )}
      </div>
      <Phases of={attempt.phases} />
      {attempt.response_excerpt !== null && attempt.response_excerpt !== '' && (
        <details>
          <summary>Answer</summary>
          <pre>{attempt.response_excerpt}</pre>
        </details>
      )}
    </li>
  );
}

type NextProps = { delivery: DeliveryDetails; subscription: Subscription | undefined };

function Next({ delivery, subscription }: NextProps) {
  if (delivery.completed_at !== null)
    return (
      <li>
        <div class="line">
          <Status of={delivery.status} />
          <span class="faint">
            <Clock time={delivery.completed_at} />
          </span>
          <span class="faint">{describeEnd(delivery)}</span>
        </div>
      </li>
    );
  const endpoint = subscription?.endpoint;
  return (
    <li>
      <div class="line">
        <Status of={delivery.status} word={delivery.status === 'held' ? 'Held' : 'Next attempt'} />
        {delivery.next_attempt_at !== null && (
          <strong>
            <Ago time={delivery.next_attempt_at} />
          </strong>
        )}
        <span class="faint">
          {endpoint?.state === 'down' && 'The endpoint is down: one delivery probes it, the others wait. '}
          {endpoint?.state === 'held' && (
            <>
              Held by the {endpoint.held_by ?? 'endpoint'}
              {endpoint.hold_until !== null && ` until ${formatClock(endpoint.hold_until)}`}.
            </>
          )}
          {subscription?.active === false && 'The subscription is paused.'}
        </span>
      </div>
    </li>
  );
}

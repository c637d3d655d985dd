// Many ended deliveries of a subscription are sent again: counted before, how far that is, and what becomes of them.
import { useEffect, useState } from 'preact/hooks';
import { get, send } from './api.ts';
import { Ask, Confirm, Opener } from './dialogs.tsx';
import { count, formatClock, formatNumber } from './format.ts';
import { useList, useLoaded } from './hooks.ts';
import type { Replay, ReplayPreview } from './types.ts';
import { Ago, Failure, Part, Status, Table } from './ui.tsx';

/** Hours of a window, and their words. */
const WINDOWS = [
  [1, 'in the last hour'],
  [6, 'in the last 6 hours'],
  [24, 'in the last 24 hours'],
  [168, 'in the last 7 days'],
  [720, 'in the last 30 days'],
] as const;
const USUAL = 24;
const HOUR_MS = 3_600_000;
/** While more is sent, or waits. */
const RUNNING_EVERY_MS = 2_000;

type SendAllProps = {
  readonly subscription: string;
  readonly status: string;
  readonly label: string;
  readonly onBegun: () => void;
};

/** The statuses of deliveries that can be sent again together. */
export const REPLAYABLE: readonly string[] = [
  'failed',
  'canceled',
  'delivered',
] satisfies Replay['delivery_status'][];

/** A button for sending again all deliveries that have ended so, in a window of time. */
export function SendAll({ label, ...props }: SendAllProps) {
  return <Opener label={label}>{(close) => <Window {...props} onClose={close} />}</Opener>;
}

function Window({
  subscription,
  status,
  onBegun,
  onClose,
}: Omit<SendAllProps, 'label'> & { onClose: () => void }) {
  const [hours, setHours] = useState<number>(USUAL);
  const [opened] = useState(Date.now);
  const path = `webhooks/${subscription}/replay`;
  const range = { status, since: new Date(opened - hours * HOUR_MS).toISOString() };
  const preview = useLoaded(`${path} ${range.since}`, () =>
    send<ReplayPreview>('POST', path, { ...range, dry_run: true }).then(({ body }) => body.matched),
  );
  const matched = preview.data;
  return (
    <Confirm
      title={`Send ${status} deliveries again?`}
      action={matched === undefined ? 'Send again' : `Send ${formatNumber(matched)} again`}
      isReady={matched !== undefined && matched > 0}
      run={() => send('POST', path, range).then(onBegun)}
      onClose={onClose}
    >
      <label>
        Those that were created
        <select value={hours} onChange={(event) => setHours(Number(event.currentTarget.value))}>
          {WINDOWS.map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </select>
      </label>
      <p aria-live="polite">
        {matched === undefined
          ? 'They are counted…'
          : `${count(matched, 'delivery', 'deliveries')} would be sent again.`}
      </p>
      <p class="faint">
        The oldest first, each with the id that it had: a receiver that remembers the id drops it.
      </p>
      <Failure error={preview.error} />
    </Confirm>
  );
}

/** The newest replays of a subscription, and how far they are; nothing where there is none. */
export function Replays({ subscription, turn }: { subscription: string; turn: number }) {
  const path = `webhooks/${subscription}/replays`;
  const [everyMs, setEveryMs] = useState(0);
  const list = useList<Replay>(path, { limit: 3 }, everyMs);
  const isRunning = list.data?.some(({ status }) => status === 'running') === true;
  useEffect(() => setEveryMs(isRunning ? RUNNING_EVERY_MS : 0), [isRunning]);
  useEffect(() => {
    if (turn > 0) list.reload();
  }, [turn]);
  if (list.data === undefined || list.data.length === 0) return null;
  return (
    <Part title="Sent again" note="the newest">
      <Table
        label="Sent again"
        list={{ data: list.data, error: list.error }}
        keyOf={({ replay_id }) => replay_id}
        columns={[
          // A completed one is no success yet: it has sent all, and Outcome says what arrived.
          ['Status', ({ status }) => <Status of={status === 'running' ? status : ''} word={status} />],
          ['Sent again', (replay) => <Progress of={replay} />],
          ['Outcome', (replay) => <Outcome path={path} of={replay} />],
          ['Deliveries', (replay) => `${replay.delivery_status}, created since ${formatClock(replay.since)}`],
          ['Begun', ({ created_at }) => <Ago time={created_at} />],
          [
            'Stop',
            ({ replay_id, status }) =>
              status === 'running' && (
                <Ask
                  label="Stop…"
                  title="Send no more of them again?"
                  action="Stop"
                  run={() => send('POST', `${path}/${replay_id}/cancel`, {}).then(list.reload)}
                >
                  <p>Those that were sent again already go on.</p>
                </Ask>
              ),
          ],
        ]}
        empty={null}
      />
    </Part>
  );
}

function Progress({ of: { matched, replayed } }: { of: Replay }) {
  return (
    <span class="progress">
      <progress value={replayed} max={Math.max(1, matched)} aria-label="Sent again" />
      {`${formatNumber(replayed)} of ${formatNumber(matched)}`}
    </span>
  );
}

/** What has become of those that were sent again, until none of them waits. */
function Outcome({ path, of }: { path: string; of: Replay }) {
  const [everyMs, setEveryMs] = useState(0);
  const one = `${path}/${of.replay_id}`;
  const outcomes = useLoaded(one, () => get<Replay>(one), everyMs).data?.outcomes;
  const goesOn = of.status === 'running' || (outcomes?.waiting ?? 0) > 0;
  useEffect(() => setEveryMs(goesOn ? RUNNING_EVERY_MS : 0), [goesOn]);
  if (outcomes === undefined) return '…';
  const shown = Object.entries(outcomes).filter(([, of]) => of > 0);
  return (
    <span class="outcomes">
      {shown.map(([name, of]) => (
        <Status
          key={name}
          of={name}
          word={`${formatNumber(of)} ${name}${name === 'failed' ? ' again' : ''}`}
        />
      ))}
    </span>
  );
}

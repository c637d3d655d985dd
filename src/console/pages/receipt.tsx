// The receipt of a suspension or revocation: which receivers have acknowledged it, live.
import { get } from '../api.ts';
import { formatClock, formatExact } from '../format.ts';
import { useLoaded } from '../hooks.ts';
import type { Receipt } from '../types.ts';
import { Ago, Empty, Facts, Head, Id, Part, Pending, RowLink, Status, Table, Text, To } from '../ui.tsx';

const EVERY_MS = 1_500;

export function ReceiptPage({ agentId, id }: { agentId: string; id: string }) {
  const path = `agents/${encodeURIComponent(agentId)}/receipts/${encodeURIComponent(id)}`;
  const { data: receipt, error } = useLoaded(path, () => get<Receipt>(path), EVERY_MS);
  if (receipt === undefined) return <Pending title="Receipt" error={error} list="agents" />;
  const all = receipt.receivers.length;
  return (
    <>
      <Head
        title="Receipt"
        about={
          <span>
            <code>{receipt.cause}</code> of <To page={`agents/${agentId}`}>the agent</To> ·{' '}
            <Ago time={receipt.created_at} />
          </span>
        }
      />
      <div class={`verdict ${receipt.status}`} role="status">
        <Status of={receipt.status} word={receipt.status.replaceAll('_', ' ')} />
        <strong>{receipt.text}</strong>
        {all > 0 && (
          <progress aria-label="Receivers that have acknowledged" value={receipt.acknowledged} max={all} />
        )}
      </div>
      <Facts of={{ Receipt: <Id value={receipt.id} whole /> }} />
      <Part title="Receivers">
        <Table
          label="Receivers"
          list={{ data: receipt.receivers, error }}
          keyOf={(receiver) => receiver.delivery_id}
          columns={[
            ['State', ({ state }) => <Status of={state} />],
            ['Host', (to) => <RowLink page={`deliveries/${to.delivery_id}`}>{to.host}</RowLink>],
            ['Kind', ({ kind }) => kind],
            ['Acknowledged', ({ acknowledged_at: at }) => (at === null ? '–' : formatClock(at))],
            ['Attempts', ({ attempts }) => attempts],
            ['Last error', ({ last_error }) => <Text of={last_error} />],
          ]}
          empty={
            <Empty title="No webhook or stream asked for this event.">
              Resource servers that follow no feed learn of it as the tokens end, at the latest{' '}
              {formatExact(receipt.tokens_end_by)}.
            </Empty>
          }
        />
      </Part>
    </>
  );
}

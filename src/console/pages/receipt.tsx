// The receipt of a suspension or revocation: which receivers have acknowledged it, live.
import { get } from '../api.ts';
import { formatClock } from '../format.ts';
import { useLoaded } from '../hooks.ts';
import type { Receipt } from '../types.ts';
import { Ago, Empty, Facts, Head, Id, Part, Pending, Status, Table, To } from '../ui.tsx';

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
        <Status of={receipt.status} />
        <strong>{receipt.text}</strong>
        {all > 0 && (
          <progress aria-label="Receivers that have acknowledged" value={receipt.acknowledged} max={all} />
        )}
      </div>
      <Facts of={[['Receipt', <Id key="id" value={receipt.id} whole />]]} />
      <Part title="Receivers">
        <Table
          label="Receivers"
          heads={['State', 'Host', 'Kind', 'Acknowledged', 'Attempts', 'Last error']}
          rows={receipt.receivers}
          error={error}
          empty={
            <Empty title="Nobody is told: no webhook or stream asks for this event.">
              Resource servers that only validate tokens by the JWKS learn of it as the tokens expire.
            </Empty>
          }
        >
          {(receiver) => (
            <tr key={receiver.delivery_id}>
              <td>
                <Status of={receiver.state} />
              </td>
              <td>
                <To page={`deliveries/${receiver.delivery_id}`} row>
                  {receiver.host}
                </To>
              </td>
              <td>{receiver.kind}</td>
              <td>{receiver.acknowledged_at === null ? '–' : formatClock(receiver.acknowledged_at)}</td>
              <td>{receiver.attempts}</td>
              <td>{receiver.last_error ?? <span class="faint">–</span>}</td>
            </tr>
          )}
        </Table>
      </Part>
    </>
  );
}

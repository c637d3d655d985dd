// What proves an agent: its keys, and the domains that vouch for it.
import { useState } from 'preact/hooks';
import { send } from '../api.ts';
import { Confirm } from '../confirm.tsx';
import { useList } from '../hooks.ts';
import type { AgentKey, Anchor } from '../types.ts';
import { Ago, Empty, Id, Part, Status, Table } from '../ui.tsx';

const EVERY_MS = 5_000;

export function Keys({ path }: { path: string }) {
  const list = useList<AgentKey>(`${path}/keys`, {}, EVERY_MS);
  const [asked, setAsked] = useState<AgentKey>();
  return (
    <Part title="Keys" note="it proves itself with these">
      <Table
        label="Keys"
        heads={['State', 'Algorithm', 'Label', 'Fingerprint', 'Verified', 'Last used', 'Action']}
        rows={list.data}
        error={list.error}
        more={list.more}
        empty={<Empty title="It has no key, and so cannot prove itself." />}
      >
        {(key) => (
          <tr key={key.key_id}>
            <td>
              <Status of={key.state} />
            </td>
            <td>{key.algorithm}</td>
            <td>{key.label ?? <span class="faint">–</span>}</td>
            <td>
              <Id value={key.fingerprint} />
            </td>
            <td>
              <Ago time={key.verified_at} none="never" />
            </td>
            <td>
              <Ago time={key.last_used_at} none="never" />
            </td>
            <td>
              <button
                type="button"
                class="small danger"
                disabled={key.state === 'revoked'}
                aria-label={`Revoke the key ${key.label ?? key.fingerprint}`}
                onClick={() => setAsked(key)}
              >
                Revoke…
              </button>
            </td>
          </tr>
        )}
      </Table>
      {asked !== undefined && (
        <Confirm
          title="Revoke this key?"
          action="Revoke key"
          danger
          onClose={() => setAsked(undefined)}
          run={() => send('POST', `${path}/keys/${asked.key_id}/revoke`, {}).then(list.reload)}
        >
          <p>The key proves nothing from now on, and tokens that it got end. It cannot come back.</p>
          <p>
            <code>{asked.fingerprint}</code>
          </p>
        </Confirm>
      )}
    </Part>
  );
}

export function Anchors({ path }: { path: string }) {
  const list = useList<Anchor>(`${path}/anchors`);
  return (
    <Part title="Anchors" note="domains that vouch for it">
      <Table
        label="Anchors"
        heads={['Status', 'Type', 'Domain', 'Verified', 'Last error']}
        rows={list.data}
        error={list.error}
        more={list.more}
        empty={<Empty title="No domain vouches for it." />}
      >
        {(anchor) => (
          <tr key={anchor.anchor_id}>
            <td>
              <Status of={anchor.status} />
            </td>
            <td>{anchor.type}</td>
            <td>{anchor.value}</td>
            <td>
              <Ago time={anchor.verified_at} none="never" />
            </td>
            <td>{anchor.last_error ?? <span class="faint">–</span>}</td>
          </tr>
        )}
      </Table>
    </Part>
  );
}

// What proves an agent: its keys, and the domains that vouch for it.
import { send } from '../api.ts';
import { Ask } from '../dialogs.tsx';
import { useList } from '../hooks.ts';
import type { AgentKey, Anchor } from '../types.ts';
import { Ago, Empty, Id, Part, Status, Table, Text } from '../ui.tsx';
import { Enrollments, Rotations } from './agent-rotations.tsx';
import { Told } from './told.tsx';

const EVERY_MS = 5_000;

export function Keys({ path }: { path: string }) {
  const list = useList<AgentKey>(`${path}/keys`, {}, EVERY_MS);
  const revoke = ({ key_id, state, label, fingerprint }: AgentKey) => (
    <Ask
      label="Revoke…"
      class="small danger"
      disabled={state === 'revoked'}
      aria-label={`Revoke the key ${label ?? fingerprint}`}
      title="Revoke this key?"
      action="Revoke key"
      danger
      run={() => send('POST', `${path}/keys/${key_id}/revoke`, {}).then(list.reload)}
    >
      <p>The key proves nothing from now on, and tokens that it got end. It cannot come back.</p>
      <p>
        <code>{fingerprint}</code>
      </p>
      <Told agentPath={path} cause="admin.agent.key.revoked" />
    </Ask>
  );
  return (
    <>
      <Part title="Keys" note="it proves itself with these">
        <Table
          label="Keys"
          list={list}
          keyOf={(key) => key.key_id}
          columns={[
            ['State', (key) => <Status of={key.state} />],
            ['Algorithm', (key) => key.algorithm],
            ['Label', (key) => <Text of={key.label} />],
            ['Fingerprint', (key) => <Id value={key.fingerprint} />],
            ['Verified', (key) => <Ago time={key.verified_at} none="never" />],
            ['Last used', (key) => <Ago time={key.last_used_at} none="never" />],
            ['Action', revoke],
          ]}
          empty={
            <Empty title="It has no key, and so cannot prove itself.">
              <em>Register a key…</em> hands it the commands.
            </Empty>
          }
        />
      </Part>
      <Rotations path={path} keys={list.data} />
      <Enrollments path={path} />
    </>
  );
}

export function Anchors({ path }: { path: string }) {
  const list = useList<Anchor>(`${path}/anchors`);
  return (
    <Part title="Anchors" note="domains that vouch for it">
      <Table
        label="Anchors"
        list={list}
        keyOf={(anchor) => anchor.anchor_id}
        columns={[
          ['Status', (anchor) => <Status of={anchor.status} />],
          ['Type', (anchor) => anchor.type],
          ['Domain', (anchor) => anchor.value],
          ['Verified', (anchor) => <Ago time={anchor.verified_at} none="never" />],
          ['Last error', (anchor) => <Text of={anchor.last_error} />],
        ]}
        empty={<Empty title="No domain vouches for it." />}
      />
    </Part>
  );
}

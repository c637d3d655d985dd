// Rotations of an agent's keys that are under way or have ended, and tokens for the registration of keys.
import { send } from '../api.ts';
import { Ask } from '../dialogs.tsx';
import { useList } from '../hooks.ts';
import type { AgentKey, Enrollment, KeyRotation } from '../types.ts';
import { Ago, Empty, Id, Part, Status, Table } from '../ui.tsx';

const EVERY_MS = 5_000;

/** The step of each state in words. */
const STEPS: Readonly<Record<KeyRotation['state'], string>> = {
  waiting_for_switch: 'waits until the agent uses the new key',
  overlapping: 'both keys work until the old one ends',
  completed: 'the old key is revoked',
  canceled: 'canceled, both keys stayed',
  aborted: 'ended, because the new key was revoked or deprecated',
};

/** @param keys of the agent, whose fingerprints are shown */
export function Rotations({ path, keys }: { path: string; keys: readonly AgentKey[] | undefined }) {
  const list = useList<KeyRotation>(`${path}/keys/rotations`, {}, EVERY_MS);
  const nameOf = (id: string) => {
    const key = keys?.find(({ key_id }) => key_id === id);
    return <Id value={key?.fingerprint ?? id} />;
  };
  if (list.data?.length === 0) return null;
  return (
    <Part title="Key rotations" note="a new key takes the place of an old one">
      <Table
        label="Key rotations"
        list={list}
        keyOf={(rotation) => rotation.rotation_id}
        columns={[
          ['State', ({ state }) => <Status of={state} word={STEPS[state]} />],
          ['Old key', ({ old_key_id }) => nameOf(old_key_id)],
          ['New key', ({ new_key_id }) => nameOf(new_key_id)],
          ['Until', (rotation) => <Deadline {...rotation} />],
          ['Workflow', ({ workflow_url }) => <a href={workflow_url}>Temporal</a>],
          [
            'Action',
            ({ rotation_id, state }) =>
              state === 'waiting_for_switch' && (
                <Ask
                  label="Cancel…"
                  class="small"
                  title="Cancel this rotation?"
                  action="Cancel rotation"
                  run={() =>
                    send('POST', `${path}/keys/rotations/${rotation_id}/cancel`, {}).then(list.reload)
                  }
                >
                  <p>Both keys stay as they are. Revoke the new one if the agent shall not use it.</p>
                </Ask>
              ),
          ],
        ]}
        empty={<Empty title="No key was ever rotated." />}
      />
    </Part>
  );
}

function Deadline({ state, deadline_at, sunset_at, stalled_at, ended_at }: KeyRotation) {
  if (state === 'waiting_for_switch')
    return (
      <span>
        <Ago time={deadline_at} />
        {stalled_at !== null && <Status of="failing" word="late" />}
      </span>
    );
  return <Ago time={state === 'overlapping' ? sunset_at : ended_at} />;
}

/** The enrollment tokens that can still be used. */
export function Enrollments({ path }: { path: string }) {
  const list = useList<Enrollment>(`${path}/enrollment-tokens`, {}, EVERY_MS);
  const open = list.data?.filter(({ status }) => status === 'open');
  if (open?.length === 0 && list.error === undefined) return null;
  return (
    <Part title="Enrollment tokens" note="each lets it register one key">
      <Table
        label="Enrollment tokens"
        list={{ ...list, data: open }}
        keyOf={({ id }) => id}
        columns={[
          ['Status', ({ status }) => <Status of={status} />],
          ['Made', ({ created_at }) => <Ago time={created_at} />],
          ['Ends', ({ expires_at }) => <Ago time={expires_at} />],
          [
            'Action',
            ({ id }) => (
              <Ask
                label="Revoke…"
                class="small danger"
                title="Revoke this token?"
                action="Revoke token"
                danger
                run={() => send('DELETE', `${path}/enrollment-tokens/${id}`).then(list.reload)}
              >
                <p>No key is registered by it any more.</p>
              </Ask>
            ),
          ],
        ]}
        empty={<Empty title="There is no token." />}
      />
    </Part>
  );
}

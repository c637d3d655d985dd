// Why an agent may do what it does: who has given it something, beside its own registration.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { send } from '../api.ts';
import { Confirm } from '../confirm.tsx';
import { useList } from '../hooks.ts';
import type { Application, Delegation, WorkloadIssuer } from '../types.ts';
import { Ago, Empty, Failure, Part, Status, Table, Words } from '../ui.tsx';

interface Grant {
  readonly key: string;
  readonly status: string;
  readonly by: string;
  readonly name: string;
  readonly gives: ComponentChildren;
  readonly ends: string | null;
  readonly delegation?: Delegation;
}

export function Grants({ id }: { id: string }) {
  const delegations = useList<Delegation>('delegations', { agent_id: id });
  const applications = useList<Application>('applications', { agent_id: id });
  const issuers = useList<WorkloadIssuer>('workload-issuers', { limit: 200 });
  const [asked, setAsked] = useState<Delegation>();
  const lists = [delegations, applications, issuers];
  const isWaiting = lists.some(({ data, error }) => data === undefined && error === undefined);
  const rows = [
    ...(delegations.data ?? []).map(showDelegation),
    ...(applications.data ?? []).map(showApplication),
    ...(issuers.data ?? []).flatMap((issuer) => showWorkloads(issuer, id)),
  ];
  return (
    <Part title="Why it may" note="who has given it what, beside its registration here">
      {lists.map(({ error }, index) => (
        <Failure key={String(index)} error={error} />
      ))}
      <Table
        label="Grants"
        heads={['Status', 'By', 'Who', 'What', 'Ends', 'Action']}
        rows={isWaiting ? undefined : rows}
        more={delegations.more ?? applications.more}
        empty={
          lists.every(({ error }) => error === undefined) && (
            <Empty title="It acts as itself only: no user, application or workload has given it anything." />
          )
        }
      >
        {({ key, status, by, name, gives, ends, delegation }) => (
          <tr key={key}>
            <td>
              <Status of={status} />
            </td>
            <td>{by}</td>
            <td class="clip" title={name}>
              {name}
            </td>
            <td>{gives}</td>
            <td>
              <Ago time={ends} none="not by itself" />
            </td>
            <td>
              {delegation !== undefined && (
                <button
                  type="button"
                  class="small danger"
                  disabled={status !== 'active'}
                  aria-label={`Revoke the delegation of ${delegation.subject.sub}`}
                  onClick={() => setAsked(delegation)}
                >
                  Revoke…
                </button>
              )}
            </td>
          </tr>
        )}
      </Table>
      {asked !== undefined && (
        <Confirm
          title="Revoke this delegation?"
          action="Revoke delegation"
          danger
          onClose={() => setAsked(undefined)}
          run={() => send('POST', `delegations/${asked.id}/revoke`, {}).then(delegations.reload)}
        >
          <p>The agent no longer acts for {asked.subject.sub}, and the tokens that it got so end.</p>
        </Confirm>
      )}
    </Part>
  );
}

function showDelegation(delegation: Delegation): Grant {
  const { id, subject, scopes, audience, status, expires_at, revoked_at } = delegation;
  const gives = (
    <>
      <Words of={scopes} none="no scope" />
      {audience !== null && <span class="faint"> for {audience}</span>}
    </>
  );
  return {
    key: id,
    status,
    by: 'user',
    name: `${subject.sub} of ${subject.issuer}`,
    gives,
    ends: revoked_at ?? expires_at,
    delegation,
  };
}

function showApplication({ id, name, scopes }: Application): Grant {
  const gives = <Words of={scopes} none="no scope" />;
  return { key: id, status: 'active', by: 'application', name, gives, ends: null };
}

/** The rules of an issuer of workloads that name this agent. */
function showWorkloads({ id, issuer, rules }: WorkloadIssuer, agentId: string): Grant[] {
  return rules
    .filter(({ agent_id }) => agent_id === agentId)
    .map(({ claims }, index) => {
      const words = Object.entries(claims).map(([claim, pattern]) => `${claim}=${pattern}`);
      const gives = <Words of={words} none="" />;
      return { key: `${id} ${index}`, status: 'active', by: 'workload', name: issuer, gives, ends: null };
    });
}

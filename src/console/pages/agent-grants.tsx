// Why an agent may do what it does: who has given it something, beside its own registration.
import type { ComponentChildren } from 'preact';
import { send } from '../api.ts';
import { Ask } from '../dialogs.tsx';
import { FormOpener, wordsOf } from '../forms.tsx';
import { useList } from '../hooks.ts';
import type { Agent, Application, Delegation, WorkloadIssuer } from '../types.ts';
import { Ago, Empty, NotLoaded, Part, Status, Table, Text, Words } from '../ui.tsx';
import { Told } from './told.tsx';

interface Grant {
  readonly key: string;
  readonly status: string;
  readonly by: string;
  readonly name: string;
  readonly gives: ComponentChildren;
  readonly ends: string | null;
  readonly delegation?: Delegation;
}

export function Grants({ agent }: { agent: Agent }) {
  const { id: agentId } = agent;
  const delegations = useList<Delegation>('delegations', { agent_id: agentId });
  const applications = useList<Application>('applications', { agent_id: agentId });
  const issuers = useList<WorkloadIssuer>('workload-issuers', { limit: 200 });
  const lists = [delegations, applications, issuers];
  const isWaiting = lists.some(({ data, error }) => data === undefined && error === undefined);
  const rows = [
    ...(delegations.data ?? []).map(showDelegation),
    ...(applications.data ?? []).map(showApplication),
    ...(issuers.data ?? []).flatMap((issuer) => showWorkloads(issuer, agentId)),
  ];
  const revoke = ({ id, status, subject: { sub } }: Delegation) => (
    <Ask
      label="Revoke…"
      class="small danger"
      disabled={status !== 'active'}
      aria-label={`Revoke the delegation of ${sub}`}
      title="Revoke this delegation?"
      action="Revoke delegation"
      danger
      run={() => send('POST', `delegations/${id}/revoke`, {}).then(delegations.reload)}
    >
      <p>The agent no longer acts for {sub}, and the tokens that it got so end.</p>
      <Told agentPath={`agents/${encodeURIComponent(agentId)}`} cause="admin.delegation.revoked" />
    </Ask>
  );
  return (
    <Part title="Why it may" note="who has given it what, beside its registration here">
      {lists.map(({ error }, index) => (
        <NotLoaded key={String(index)} error={error} />
      ))}
      <Table
        label="Grants"
        list={{ data: isWaiting ? undefined : rows, more: delegations.more ?? applications.more }}
        keyOf={(grant) => grant.key}
        columns={[
          ['Status', (grant) => <Status of={grant.status} />],
          ['By', (grant) => grant.by],
          ['Who', (grant) => <Text of={grant.name} />, 'clip'],
          ['What', (grant) => grant.gives],
          ['Ends', (grant) => <Ago time={grant.ends} none="not by itself" />],
          ['Action', ({ delegation }) => delegation && revoke(delegation)],
        ]}
        empty={
          lists.every(({ error }) => error === undefined) && (
            <Empty title="It acts as itself only: no user, application or workload has given it anything." />
          )
        }
      />
      <NewDelegation agent={agent} onDone={delegations.reload} />
    </Part>
  );
}

const DAY_MS = 86_400_000;

function NewDelegation({ agent, onDone }: { agent: Agent; onDone: () => void }) {
  return (
    <FormOpener
      label="New delegation…"
      title={`Let ${agent.name} act for a user`}
      action="Record delegation"
      fields={{
        issuer: { label: 'Issuer of the user', required: true, placeholder: 'https://login.example.com' },
        sub: { label: 'User (sub)', required: true, maxLength: 255 },
        scopes: { label: 'Scopes', options: agent.scopes, many: true, required: true },
        days: { label: 'Ends after days', value: '30', required: true },
      }}
      run={({ issuer, sub, scopes, days }) =>
        send('POST', 'delegations', {
          ...{ subject: { issuer, sub }, agent_id: agent.id, scopes: wordsOf(scopes) },
          expires_at: new Date(Date.now() + Number(days) * DAY_MS).toISOString(),
        }).then(onDone)
      }
    />
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
    name: subject.sub === null ? 'A forgotten user' : `${subject.sub} of ${subject.issuer}`,
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

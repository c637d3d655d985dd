// One agent: who answers for it, what it can do and why, what it has done, and how to stop it.
import { useState } from 'preact/hooks';
import { get, send } from '../api.ts';
import { Sparkline } from '../charts.tsx';
import { Ask, Opener } from '../dialogs.tsx';
import { count } from '../format.ts';
import { FormOpener } from '../forms.tsx';
import { useList, useLoaded } from '../hooks.ts';
import { open } from '../router.ts';
import type { Agent, AuditEntry, AuditHours, ReceiptEntry } from '../types.ts';
import {
  Ago,
  Empty,
  Facts,
  Failure,
  Head,
  Id,
  Part,
  Pending,
  RowLink,
  Status,
  Table,
  Text,
  To,
  Words,
} from '../ui.tsx';
import { Grants } from './agent-grants.tsx';
import { Anchors, Keys } from './agent-proofs.tsx';
import { AuditTable } from './audit.tsx';
import { Enroll } from './enrollment.tsx';
import { Told } from './told.tsx';

const EVERY_MS = 5_000;

export function AgentPage({ id }: { id: string }) {
  const path = `agents/${encodeURIComponent(id)}`;
  const loaded = useLoaded(path, () => get<Agent>(path), EVERY_MS);
  const agent = loaded.data;
  if (agent === undefined) return <Pending title="Agent" error={loaded.error} list="agents" />;
  return (
    <>
      <Head
        title={agent.name}
        about={
          <span aria-live="polite">
            <Status of={agent.status} />
            {agent.description !== null && ` · ${agent.description}`}
          </span>
        }
      >
        <Opener label="Register a key…">{(close) => <Enroll agent={agent} onClose={close} />}</Opener>
        <EditPeople agent={agent} path={path} onDone={loaded.reload} />
        <AskStatus agent={agent} path={path} onDone={loaded.reload} />
      </Head>
      <Failure error={loaded.error} />
      <Facts
        of={{
          Owner: <Text of={agent.owner} none="nobody is named" />,
          Purpose: <Text of={agent.purpose} none="not written down" />,
          Agent: <Id value={agent.id} whole />,
          Created: <Ago time={agent.created_at} />,
          Registration: <Registration of={agent.registration} />,
        }}
      />
      <Part title="What it can do">
        <Facts
          of={{
            Scopes: <Words of={agent.scopes} none="none: it gets no token" />,
            Audiences: <Words of={[...new Set([agent.audience, ...agent.audiences])]} none="none" />,
            Capabilities: <Words of={agent.capabilities} none="none declared" />,
            Tokens: agent.dpop_bound_access_tokens ? 'bound to its key (DPoP)' : 'bearer tokens',
          }}
        />
      </Part>
      <Grants agent={agent} />
      <Keys path={path} />
      <Anchors path={path} />
      <Done id={id} />
      <Part title="How to stop it" note="and who has acknowledged that it was stopped">
        <p class="about">
          Suspending ends all that it holds. Revoking a key or a delegation, above, ends what came by that
          one.
        </p>
        <Receipts id={id} path={path} />
      </Part>
    </>
  );
}

/** Whether it is correctly registered, or which parts are missing. */
function Registration({ of: { complete, ...parts } }: { of: Agent['registration'] }) {
  if (complete) return <>complete</>;
  const missing = Object.entries(parts).filter(([, isDone]) => !isDone);
  return <>not complete: not {missing.map(([part]) => part).join(', not ')}</>;
}

interface Asking {
  readonly agent: Agent;
  readonly path: string;
  readonly onDone: () => void;
}

function EditPeople({ agent, path, onDone }: Asking) {
  return (
    <FormOpener
      label="Edit…"
      title={`Owner and purpose of ${agent.name}`}
      action="Save"
      fields={{
        owner: {
          ...{ label: 'Owner', value: agent.owner ?? '', maxLength: 200 },
          placeholder: 'purchasing@example.com',
        },
        purpose: { label: 'Purpose', value: agent.purpose ?? '', type: 'area', maxLength: 2_000 },
      }}
      run={({ owner, purpose }) =>
        send('PATCH', path, { owner: owner || null, purpose: purpose || null }).then(onDone)
      }
    >
      <p class="faint">For people: nothing is decided by them, and no token contains them.</p>
    </FormOpener>
  );
}

function AskStatus({ agent, path, onDone }: Asking) {
  const isActive = agent.status === 'active';
  const run = async (): Promise<void> => {
    const { link } = await send('PATCH', `${path}/${isActive ? 'suspend' : 'reactivate'}`, {});
    const receipt = readReceipt(link);
    if (receipt === undefined) onDone();
    else open(`agents/${agent.id}/receipts/${receipt}`);
  };
  return (
    <Ask
      label={isActive ? 'Suspend…' : 'Reactivate…'}
      class={isActive ? 'danger' : 'primary'}
      title={isActive ? `Suspend ${agent.name}?` : `Reactivate ${agent.name}?`}
      action={isActive ? 'Suspend agent' : 'Reactivate agent'}
      danger={isActive}
      run={run}
    >
      <p>
        {isActive
          ? 'It gets no more tokens, and its present ones end within a second in this service. Webhooks and streams get the news; the receipt that opens next shows which of them have acknowledged it.'
          : 'It can ask for tokens again. Tokens from before the suspension stay ended.'}
      </p>
      {isActive && <Told agentPath={path} cause="admin.agent.suspended" />}
    </Ask>
  );
}

/** @returns the id of the receipt that a `Link` header names */
function readReceipt(link: string | null): string | undefined {
  return link?.match(/\/receipts\/([^>/?]+)>;[^,]*rel="?receipt"?/)?.[1];
}

function Done({ id }: { id: string }) {
  const [by, setBy] = useState<'actor_id' | 'target_id'>('actor_id');
  const list = useList<AuditEntry>('audit-logs', { [by]: id, limit: 20 });
  const hours = useLoaded(`hours ${id}`, () => get<AuditHours>('audit-logs/hours', { actor_id: id }));
  return (
    <Part title="What it has done" note="from the audit log">
      {hours.data !== undefined && <Activity of={hours.data} />}
      <div class="tabs">
        {(['actor_id', 'target_id'] as const).map((name) => (
          <button key={name} type="button" aria-pressed={by === name} onClick={() => setBy(name)}>
            {name === 'actor_id' ? 'By it' : 'To it'}
          </button>
        ))}
        <To page={`audit?${by}=${id}&tokens=true`}>All in the audit log</To>
      </div>
      <AuditTable list={list}>
        <Empty title={by === 'actor_id' ? 'It has done nothing yet.' : 'Nothing was done to it yet.'} />
      </AuditTable>
    </Part>
  );
}

/** Its tokens and failures, hour by hour. */
function Activity({ of: { tokens, failures, most } }: { of: AuditHours }) {
  const sum = (numbers: readonly number[]): number => numbers.reduce((all, n) => all + n, 0);
  const isMore = tokens.some((n, hour) => n + (failures[hour] ?? 0) >= most);
  const words = `${isMore ? 'at least ' : ''}${count(sum(tokens), 'token', 'tokens')} and ${count(sum(failures), 'failure', 'failures')} in 24 hours`;
  return (
    <p class="about">
      <Sparkline words={words} good={tokens} bad={failures} /> {words}
    </p>
  );
}

function Receipts({ id, path }: { id: string; path: string }) {
  const list = useList<ReceiptEntry>(`${path}/receipts`, {}, EVERY_MS);
  return (
    <Table
      label="Receipts"
      list={list}
      keyOf={(receipt) => receipt.id}
      columns={[
        ['Cause', (of) => <RowLink page={`agents/${id}/receipts/${of.id}`}>{of.cause}</RowLink>],
        ['When', (receipt) => <Ago time={receipt.created_at} />],
        ['Complete', (receipt) => <Ago time={receipt.completed_at} none="not yet" />],
      ]}
      empty={<Empty title="There is no receipt: neither it nor a key of it was ever stopped." />}
    />
  );
}

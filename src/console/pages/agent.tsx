// One agent: who it is, what it can do and why, what it has done, and how to stop it.
import { useState } from 'preact/hooks';
import { get, send } from '../api.ts';
import { Confirm } from '../confirm.tsx';
import { useList, useLoaded } from '../hooks.ts';
import { open } from '../router.ts';
import type { Agent, AuditEntry, Delegation, ReceiptEntry } from '../types.ts';
import { Ago, Empty, Facts, Failure, Head, Id, Part, Status, Table, To, Waiting, Words } from '../ui.tsx';
import { Anchors, Keys } from './agent-proofs.tsx';
import { readOwner } from './agents.tsx';
import { AuditTable } from './audit.tsx';

const EVERY_MS = 5_000;

export function AgentPage({ id }: { id: string }) {
  const path = `agents/${encodeURIComponent(id)}`;
  const loaded = useLoaded(path, () => get<Agent>(path), EVERY_MS);
  const [isAsking, setAsking] = useState(false);
  const agent = loaded.data;
  if (agent === undefined)
    return loaded.error === undefined ? <Waiting rows={9} /> : <Failure error={loaded.error} />;
  const isActive = agent.status === 'active';
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
        <button type="button" class={isActive ? 'danger' : 'primary'} onClick={() => setAsking(true)}>
          {isActive ? 'Suspend…' : 'Reactivate…'}
        </button>
      </Head>
      <Failure error={loaded.error} />
      <Facts
        of={[
          ['Agent', <Id key="id" value={agent.id} whole />],
          ['Owner', readOwner(agent) ?? <span class="faint">not noted (metadata.owner)</span>],
          ['Registered', <Ago key="created" time={agent.created_at} />],
          ['Registration', agent.registration.complete ? 'complete' : 'not complete'],
        ]}
      />
      <Part title="What it can do">
        <Facts
          of={[
            ['Scopes', <Words key="scopes" of={agent.scopes} none="none: it gets no token" />],
            [
              'Audiences',
              <Words key="audiences" of={[...new Set([agent.audience, ...agent.audiences])]} none="none" />,
            ],
            ['Capabilities', <Words key="capabilities" of={agent.capabilities} none="none" />],
            ['Tokens', agent.dpop_bound_access_tokens ? 'bound to its key (DPoP)' : 'bearer tokens'],
          ]}
        />
      </Part>
      <Keys path={path} />
      <Anchors path={path} />
      <Delegations id={id} />
      <Done id={id} />
      <Receipts id={id} path={path} />
      {isAsking && (
        <AskStatus agent={agent} path={path} onDone={loaded.reload} onClose={() => setAsking(false)} />
      )}
    </>
  );
}

function AskStatus({
  agent,
  path,
  onDone,
  onClose,
}: {
  agent: Agent;
  path: string;
  onDone: () => void;
  onClose: () => void;
}) {
  const isActive = agent.status === 'active';
  const run = async (): Promise<void> => {
    const { link } = await send('PATCH', `${path}/${isActive ? 'suspend' : 'reactivate'}`, {});
    const receipt = readReceipt(link);
    if (receipt === undefined) onDone();
    else open(`agents/${agent.id}/receipts/${receipt}`);
  };
  return (
    <Confirm
      title={isActive ? `Suspend ${agent.name}?` : `Reactivate ${agent.name}?`}
      action={isActive ? 'Suspend agent' : 'Reactivate agent'}
      danger={isActive}
      onClose={onClose}
      run={run}
    >
      {isActive ? (
        <p>
          It gets no more tokens, and its present ones end within a second in this service. Webhooks and
          streams get the news; the receipt that opens next shows which of them have acknowledged it.
        </p>
      ) : (
        <p>It can ask for tokens again. Tokens from before the suspension stay ended.</p>
      )}
    </Confirm>
  );
}

/** @returns the id of the receipt that a `Link` header names */
function readReceipt(link: string | null): string | undefined {
  return link?.match(/\/receipts\/([^>/?]+)>;[^,]*rel="?receipt"?/)?.[1];
}

function Delegations({ id }: { id: string }) {
  const list = useList<Delegation>('delegations', { agent_id: id });
  return (
    <Part title="Why" note="delegations: for whom it may act">
      <Table
        label="Delegations"
        heads={['Status', 'User', 'Issuer', 'Scopes', 'Audience', 'Ends']}
        rows={list.data}
        error={list.error}
        more={list.more}
        empty={<Empty title="It acts for no user, only as itself." />}
      >
        {(delegation) => (
          <tr key={delegation.id}>
            <td>
              <Status of={delegation.status} />
            </td>
            <td>{delegation.subject.sub}</td>
            <td class="clip">{delegation.subject.issuer}</td>
            <td>
              <Words of={delegation.scopes} none="none" />
            </td>
            <td>{delegation.audience ?? 'any of its own'}</td>
            <td>
              <Ago time={delegation.expires_at} />
            </td>
          </tr>
        )}
      </Table>
    </Part>
  );
}

function Done({ id }: { id: string }) {
  const [by, setBy] = useState<'actor_id' | 'target_id'>('actor_id');
  const list = useList<AuditEntry>('audit-logs', { [by]: id, limit: 20 });
  return (
    <Part title="What it has done" note="from the audit log">
      <div class="tabs">
        {(['actor_id', 'target_id'] as const).map((name) => (
          <button key={name} type="button" aria-pressed={by === name} onClick={() => setBy(name)}>
            {name === 'actor_id' ? 'By it' : 'To it'}
          </button>
        ))}
        <To page={`audit?${by}=${id}`}>All in the audit log</To>
      </div>
      <AuditTable list={list}>
        <Empty title={by === 'actor_id' ? 'It has done nothing yet.' : 'Nothing was done to it yet.'} />
      </AuditTable>
    </Part>
  );
}

function Receipts({ id, path }: { id: string; path: string }) {
  const list = useList<ReceiptEntry>(`${path}/receipts`, {}, EVERY_MS);
  return (
    <Part title="How it was stopped" note="receipts: who has acknowledged it">
      <Table
        label="Receipts"
        heads={['Cause', 'When', 'Complete']}
        rows={list.data}
        error={list.error}
        more={list.more}
        empty={<Empty title="Nothing of it was suspended or revoked yet." />}
      >
        {(receipt) => (
          <tr key={receipt.id}>
            <td>
              <To page={`agents/${id}/receipts/${receipt.id}`} row>
                {receipt.cause}
              </To>
            </td>
            <td>
              <Ago time={receipt.created_at} />
            </td>
            <td>
              <Ago time={receipt.completed_at} none="not yet" />
            </td>
          </tr>
        )}
      </Table>
    </Part>
  );
}

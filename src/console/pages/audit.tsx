// The audit log: who did what, when and from where, with the proof of each entry.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { get } from '../api.ts';
import { Notice, Opener } from '../dialogs.tsx';
import { Field, Filters, Moment, Pick, readFilters } from '../filters.tsx';
import { shorten } from '../format.ts';
import { useList, useLoaded } from '../hooks.ts';
import type { Route } from '../router.ts';
import type { Agent, Application, AuditEntry, InclusionProof } from '../types.ts';
import { Clock, Empty, Facts, Failure, Head, Id, Json, Status, Table, Text, To, Waiting } from '../ui.tsx';

const FILTERS = [
  'action',
  'tokens',
  'outcome',
  'actor_kind',
  'actor_id',
  'target_id',
  'request_id',
  'since',
  'until',
] as const;

export function Audit({ query }: Route) {
  const filters = readFilters(query, FILTERS);
  // Most entries are tokens. Who asks for one action or request gets all of it.
  const tokens = filters.tokens ?? ((filters.action ?? filters.request_id) ? undefined : 'false');
  const list = useList<AuditEntry>('audit-logs', { ...filters, tokens });
  return (
    <>
      <Head title="Audit log" about="Who did what, and from where. Every entry can be proven.">
        {/* Not polled: reading the audit log is itself an entry of it. */}
        <button type="button" onClick={list.reload}>
          Refresh
        </button>
      </Head>
      <Filters>
        <Field name="action" label="Action" query={query} first />
        <Pick name="tokens" label="Tokens" options={[['true', 'shown']]} query={query} none="left out" />
        <Pick name="outcome" label="Outcome" options={['success', 'failure']} query={query} />
        <Pick
          name="actor_kind"
          label="Actor"
          options={['application', 'agent', 'operator', 'service', 'anonymous']}
          query={query}
        />
        <Field name="actor_id" label="Actor id" query={query} />
        <Field name="target_id" label="Target id" query={query} />
        <Field name="request_id" label="Request id" query={query} />
        <Moment name="since" label="Since" query={query} />
        <Moment name="until" label="Before" query={query} />
      </Filters>
      <AuditTable list={list}>
        <Empty title="No entry is like this.">Change or clear a filter.</Empty>
      </AuditTable>
    </>
  );
}

type AuditTableProps = { list: ReturnType<typeof useList<AuditEntry>>; children: ComponentChildren };

/** Entries as a table, each with its details; the child is shown when there is none. */
export function AuditTable({ list, children }: AuditTableProps) {
  const names = useNames();
  return (
    <Table
      label="Audit entries"
      list={list}
      keyOf={(entry) => entry.id}
      columns={[
        ['When', ({ occurred_at }) => <Clock time={occurred_at} />],
        ['Outcome', (entry) => <Status of={entry.outcome} />],
        ['Action', showAction],
        ['Actor', ({ actor }) => <Party kind={actor.kind} id={actor.id} names={names} />, 'clip'],
        [
          'Target',
          ({ target }) => target !== null && <Party kind={target.type} id={target.id} names={names} />,
        ],
        ['From', (entry) => <Text of={entry.address} />],
        ['Details', showDetails],
      ]}
      empty={children}
    />
  );
}

function showAction({ action, reason }: AuditEntry) {
  return (
    <>
      {action}
      {reason !== null && <span class="faint"> {reason}</span>}
    </>
  );
}

function showDetails(entry: AuditEntry) {
  return (
    <Opener label="Show…" class="small" data-row="" aria-label={`Show… ${entry.action}`}>
      {(close) => <Details of={entry} onClose={close} />}
    </Opener>
  );
}

type Names = ReadonlyMap<string, string>;

/** The names of the newest agents and applications; an id without one is shown itself. */
function useNames(): Names {
  const agents = useList<Agent>('agents', { limit: 200 });
  const applications = useList<Application>('applications', { limit: 200 });
  return new Map([...(agents.data ?? []), ...(applications.data ?? [])].map(({ id, name }) => [id, name]));
}

const PAGES: Readonly<Record<string, string>> = {
  agent: 'agents',
  application: 'applications',
  subscription: 'subscriptions',
  delivery: 'deliveries',
};

function Party({ kind, id, names }: { kind: string; id: string | null; names: Names }) {
  if (id === null) return <>{kind}</>;
  const page = PAGES[kind];
  const name = names.get(id) ?? shorten(id);
  return (
    <span title={id}>
      {kind} {page === undefined ? <code>{name}</code> : <To page={`${page}/${id}`}>{name}</To>}
    </span>
  );
}

function Details({ of: entry, onClose }: { of: AuditEntry; onClose: () => void }) {
  const [isProving, setProving] = useState(false);
  return (
    <Notice
      title={entry.action}
      onClose={onClose}
      actions={
        <button type="button" disabled={isProving} onClick={() => setProving(true)}>
          Proof of inclusion
        </button>
      }
    >
      <Facts
        of={{
          Entry: <Id value={entry.id} whole />,
          When: entry.occurred_at,
          Actor: `${entry.actor.kind} ${entry.actor.id ?? ''}`,
          Target: entry.target === null ? '–' : `${entry.target.type} ${entry.target.id}`,
          Token: entry.token_id ?? '–',
          Request: entry.request_id ?? '–',
        }}
      />
      <Json of={entry.data} label="the data" />
      {isProving && <Proof id={entry.id} />}
    </Notice>
  );
}

function Proof({ id }: { id: string }) {
  const path = `audit-logs/${id}/inclusion-proof`;
  const { data, error } = useLoaded(path, () => get<InclusionProof>(path));
  if (data === undefined) return error === undefined ? <Waiting rows={2} /> : <Failure error={error} />;
  return (
    <>
      <p>
        Entry {data.index + 1} of the {data.tree_size} that the newest signed checkpoint covers, by{' '}
        {data.hashes.length} hashes. <code>countersign audit verify</code> checks it.
      </p>
      <Json of={data} label="the proof" />
    </>
  );
}

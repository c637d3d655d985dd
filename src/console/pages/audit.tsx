// The audit log: who did what, when and from where, with the proof of each entry.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { get } from '../api.ts';
import { Field, Filters, Pick } from '../filters.tsx';
import { formatClock, shorten } from '../format.ts';
import { useList, useLoaded } from '../hooks.ts';
import type { Route } from '../router.ts';
import type { AuditEntry, InclusionProof } from '../types.ts';
import { Dialog, Empty, Facts, Failure, Head, Id, Json, Status, Table, To, Waiting } from '../ui.tsx';

const FILTERS = ['action', 'outcome', 'actor_kind', 'actor_id', 'target_id', 'request_id'] as const;

export function Audit({ query }: Route) {
  const filters = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? undefined]));
  const list = useList<AuditEntry>('audit-logs', filters);
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
      </Filters>
      <AuditTable list={list}>
        <Empty title="No entry is like this.">Change or clear a filter.</Empty>
      </AuditTable>
    </>
  );
}

/** Entries as a table, each with its details; the child is shown when there is none. */
export function AuditTable({
  list,
  children,
}: {
  list: ReturnType<typeof useList<AuditEntry>>;
  children: ComponentChildren;
}) {
  const [shown, setShown] = useState<AuditEntry>();
  return (
    <>
      <Table
        label="Audit entries"
        heads={['When', 'Outcome', 'Action', 'Actor', 'Target', 'From', 'Details']}
        rows={list.data}
        error={list.error}
        empty={children}
        more={list.more}
      >
        {(entry) => (
          <tr key={entry.id}>
            <td>
              <time dateTime={entry.occurred_at} title={entry.occurred_at}>
                {formatClock(entry.occurred_at)}
              </time>
            </td>
            <td>
              <Status of={entry.outcome} />
            </td>
            <td>
              {entry.action}
              {entry.reason !== null && <span class="faint"> {entry.reason}</span>}
            </td>
            <td>
              <Party kind={entry.actor.kind} id={entry.actor.id} />
            </td>
            <td>{entry.target !== null && <Party kind={entry.target.type} id={entry.target.id} />}</td>
            <td>{entry.address ?? <span class="faint">–</span>}</td>
            <td>
              <button
                type="button"
                class="small"
                data-row=""
                aria-label={`Show… ${entry.action}`}
                onClick={() => setShown(entry)}
              >
                Show…
              </button>
            </td>
          </tr>
        )}
      </Table>
      {shown !== undefined && <Details of={shown} onClose={() => setShown(undefined)} />}
    </>
  );
}

const PAGES: Readonly<Record<string, string>> = {
  agent: 'agents',
  subscription: 'subscriptions',
  delivery: 'deliveries',
};

function Party({ kind, id }: { kind: string; id: string | null }) {
  if (id === null) return <>{kind}</>;
  const page = PAGES[kind];
  return (
    <span title={id}>
      {kind} {page === undefined ? <code>{shorten(id)}</code> : <To page={`${page}/${id}`}>{shorten(id)}</To>}
    </span>
  );
}

function Details({ of: entry, onClose }: { of: AuditEntry; onClose: () => void }) {
  const [isProving, setProving] = useState(false);
  return (
    <Dialog title={entry.action} onClose={onClose}>
      <Facts
        of={[
          ['Entry', <Id key="id" value={entry.id} whole />],
          ['When', entry.occurred_at],
          ['Actor', `${entry.actor.kind} ${entry.actor.id ?? ''}`],
          ['Target', entry.target === null ? '–' : `${entry.target.type} ${entry.target.id}`],
          ['Token', entry.token_id ?? '–'],
          ['Request', entry.request_id ?? '–'],
        ]}
      />
      <Json of={entry.data} label="the data" />
      {isProving && <Proof id={entry.id} />}
      <div class="buttons">
        <button type="button" disabled={isProving} onClick={() => setProving(true)}>
          Proof of inclusion
        </button>
        <button type="button" class="primary" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
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

// The agents of the tenant.
import { Field, Filters, Pick, readFilters } from '../filters.tsx';
import { useList } from '../hooks.ts';
import type { Route } from '../router.ts';
import type { Agent } from '../types.ts';
import { Ago, Empty, Head, Id, RowLink, Status, Table, Text, Words } from '../ui.tsx';
import { NewAgent } from './new-agent.tsx';

export function Agents({ query }: Route) {
  const filters = readFilters(query, ['status', 'name', 'scope', 'capability']);
  const list = useList<Agent>('agents', filters, 15_000);
  return (
    <>
      <Head title="Agents" about="Which there are, who answers for them, and what for.">
        <NewAgent />
      </Head>
      <Filters>
        <Pick name="status" label="Status" options={['active', 'suspended']} query={query} />
        <Field name="name" label="Name" query={query} first />
        <Field name="scope" label="Scope" query={query} />
        <Field name="capability" label="Capability" query={query} />
      </Filters>
      <Table
        label="Agents"
        list={list}
        keyOf={(agent) => agent.id}
        columns={[
          ['Status', (agent) => <Status of={agent.status} />],
          [
            'Name',
            (agent) => (
              <RowLink page={`agents/${agent.id}`}>
                <Text of={agent.name} />
              </RowLink>
            ),
            'clip',
          ],
          ['Owner', (agent) => <Text of={agent.owner} />, 'clip'],
          ['Purpose', (agent) => <Text of={agent.purpose} />, 'clip'],
          ['Scopes', (agent) => <Words of={agent.scopes} none="none" most={3} />],
          ['Created', (agent) => <Ago time={agent.created_at} />],
          ['Id', (agent) => <Id value={agent.id} />],
        ]}
        empty={
          query.size > 0 ? (
            <Empty title="No agent is like this.">Change or clear a filter.</Empty>
          ) : (
            <Empty title="No agent is registered yet.">
              <em>New agent…</em> ends in the commands with which it registers its own key.
            </Empty>
          )
        }
      />
    </>
  );
}

// The agents of the tenant.
import { Field, Filters, Pick } from '../filters.tsx';
import { useList } from '../hooks.ts';
import type { Route } from '../router.ts';
import type { Agent } from '../types.ts';
import { Ago, Empty, Head, Id, Status, Table, To, Words } from '../ui.tsx';

export function Agents({ query }: Route) {
  const read = (name: string): string | undefined => query.get(name) ?? undefined;
  const list = useList<Agent>(
    'agents',
    { status: read('status'), name: read('name'), scope: read('scope'), capability: read('capability') },
    15_000,
  );
  return (
    <>
      <Head title="Agents" about="Which there are, who answers for them, and what for." />
      <Filters>
        <Pick name="status" label="Status" options={['active', 'suspended']} query={query} />
        <Field name="name" label="Name" query={query} first />
        <Field name="scope" label="Scope" query={query} />
        <Field name="capability" label="Capability" query={query} />
      </Filters>
      <Table
        label="Agents"
        heads={['Status', 'Name', 'Owner', 'Purpose', 'Scopes', 'Created', 'Id']}
        rows={list.data}
        error={list.error}
        more={list.more}
        empty={
          query.size > 0 ? (
            <Empty title="No agent is like this.">Change or clear a filter.</Empty>
          ) : (
            <Empty title="No agent is registered yet.">
              Register one by <code>POST /api/v1/agents</code>; it then enrolls its own key.
            </Empty>
          )
        }
      >
        {(agent) => (
          <tr key={agent.id}>
            <td>
              <Status of={agent.status} />
            </td>
            <td>
              <To page={`agents/${agent.id}`} row>
                {agent.name}
              </To>
            </td>
            <td class="clip">{agent.owner ?? <span class="faint">–</span>}</td>
            <td class="clip" title={agent.purpose ?? ''}>
              {agent.purpose ?? <span class="faint">–</span>}
            </td>
            <td>
              <Words of={agent.scopes} none="none" />
            </td>
            <td>
              <Ago time={agent.created_at} />
            </td>
            <td>
              <Id value={agent.id} />
            </td>
          </tr>
        )}
      </Table>
    </>
  );
}

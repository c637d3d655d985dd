// Issuers of others that the tenant trusts: those that name its users, and those that name the workloads of agents.
import { send } from '../api.ts';
import { Ask } from '../dialogs.tsx';
import { type Field, FormOpener, wordsOf } from '../forms.tsx';
import { useList } from '../hooks.ts';
import type { Agent, TrustedIssuer, WorkloadIssuer } from '../types.ts';
import { Ago, type Column, Empty, Head, Id, Part, Status, Table, To, Words } from '../ui.tsx';

const EVERY_MS = 15_000;

const SOURCE = {
  issuer: { label: 'Issuer', required: true, maxLength: 500, placeholder: 'https://login.example.com' },
  jwks_uri: {
    ...{ label: 'Address of its keys', type: 'url', required: true },
    placeholder: 'https://login.example.com/jwks',
  },
  audiences: {
    ...{ label: 'Audiences', required: true, placeholder: 'https://id.example.com' },
    hint: 'What its tokens must have in aud, with spaces between.',
  },
} as const satisfies Record<string, Field>;

export function Issuers() {
  return (
    <>
      <Head
        title="Trusted issuers"
        about="Whose tokens are believed: about users, and about the workloads of agents."
      />
      <OfUsers />
      <OfWorkloads />
    </>
  );
}

function OfUsers() {
  const list = useList<TrustedIssuer>('trusted-issuers', {}, EVERY_MS);
  return (
    <Part title="Of users" note="an agent acts for a user of theirs by token exchange">
      <Table
        label="Issuers of users"
        list={list}
        keyOf={({ id }) => id}
        columns={columnsOf(
          'trusted-issuers',
          list.reload,
          'Its tokens are exchanged no longer. Tokens that agents have by them work until their own end.',
        )}
        empty={<Empty title="No issuer of users is trusted: agents act for themselves only." />}
      />
      <FormOpener
        label="Trust an issuer of users…"
        title="Trust an issuer of users"
        action="Trust"
        fields={SOURCE}
        run={({ audiences, ...source }) =>
          send('POST', 'trusted-issuers', { ...source, audiences: wordsOf(audiences) }).then(list.reload)
        }
      />
    </Part>
  );
}

function OfWorkloads() {
  const list = useList<WorkloadIssuer>('workload-issuers', {}, EVERY_MS);
  const agents = useList<Agent>('agents', { limit: 200 });
  const names = new Map(agents.data?.map(({ id, name }) => [id, name]));
  return (
    <Part title="Of workloads" note="Kubernetes, GitHub Actions, SPIFFE: an agent without a stored secret">
      <Table
        label="Issuers of workloads"
        list={list}
        keyOf={({ id }) => id}
        columns={columnsOf<WorkloadIssuer>(
          'workload-issuers',
          list.reload,
          'Its tokens are refused from now on, and the tokens that agents have by them end.',
          [
            'Agents',
            ({ rules }) =>
              rules.map(({ agent_id, claims }, index) => (
                <p key={String(index)}>
                  <To page={`agents/${agent_id}`}>{names.get(agent_id) ?? 'an agent'}</To>{' '}
                  <Words of={Object.entries(claims).map(([name, value]) => `${name}=${value}`)} none="" />
                </p>
              )),
          ],
        )}
        empty={<Empty title="No issuer of workloads is trusted." />}
      />
      <FormOpener
        label="Trust an issuer of workloads…"
        title="Trust an issuer of workloads"
        action="Trust"
        fields={{
          ...SOURCE,
          agent_id: {
            ...{ label: 'Agent', required: true },
            options: [['', 'choose one'], ...(agents.data ?? []).map(({ id, name }) => [id, name] as const)],
          },
          sub: {
            ...{ label: 'Subject of its workload', required: true },
            placeholder: 'repo:acme/shop:environment:production',
            hint: 'The claim `sub`; `*` stands for one segment. More claims and rules: by the API.',
          },
        }}
        run={({ audiences, agent_id, sub, ...source }) =>
          send('POST', 'workload-issuers', {
            ...{ ...source, audiences: wordsOf(audiences) },
            rules: [{ agent_id, claims: { sub } }],
          }).then(list.reload)
        }
      />
    </Part>
  );
}

/** @param removal what ends with the issuer @param own a column that only one kind of issuer has */
function columnsOf<T extends TrustedIssuer>(
  path: string,
  onDone: () => void,
  removal: string,
  ...own: Column<T>[]
): readonly Column<T>[] {
  return [
    ['Issuer', ({ issuer }) => issuer, 'clip'],
    ['Keys', (of) => <Source of={of} />],
    ['Audiences', ({ audiences }) => <Words of={audiences} none="none" most={2} />],
    ...own,
    ['Created', ({ created_at }) => <Ago time={created_at} />],
    ['Id', ({ id }) => <Id value={id} />],
    [
      'Action',
      ({ id, issuer }) => (
        <Ask
          label="Remove…"
          class="small danger"
          aria-label={`Remove ${issuer}`}
          title={`Trust ${issuer} no longer?`}
          action="Remove issuer"
          danger
          run={() => send('DELETE', `${path}/${id}`).then(onDone)}
        >
          <p>{removal}</p>
        </Ask>
      ),
    ],
  ];
}

/** Where the keys come from, and how the latest fetch ended. */
function Source({ of: { jwks_uri, jwks, last_fetch } }: { of: TrustedIssuer }) {
  if (jwks_uri === null) return <>{jwks?.keys.length ?? 0} keys, stored</>;
  if (last_fetch === null) return <Status of="pending" word="not fetched yet" />;
  return last_fetch.error === null ? (
    <Status of="success" word="fetched" />
  ) : (
    <Status of="failure" word={last_fetch.error} />
  );
}

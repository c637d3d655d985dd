// The applications of the tenant: programs that authenticate with a secret or a key, a form for a new one, and one with
// its secrets.
import { useState } from 'preact/hooks';
import { get, send } from '../api.ts';
import { Ask, Secret } from '../dialogs.tsx';
import { FormOpener, wordsOf } from '../forms.tsx';
import { useList, useLoaded } from '../hooks.ts';
import { open } from '../router.ts';
import {
  APPLICATION_SCOPES,
  type Application,
  type CreatedApplication,
  type CreatedSecret,
} from '../types.ts';
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
  Table,
  Text,
  To,
  Words,
} from '../ui.tsx';

export function Applications() {
  const list = useList<Application>('applications', {}, 15_000);
  const [made, setMade] = useState<CreatedApplication>();
  return (
    <>
      <Head
        title="Applications"
        about="Programs that authenticate with a secret or a key, and what they may."
      >
        <FormOpener
          label="New application…"
          class="primary"
          title="New application"
          action="Create"
          fields={{
            name: { label: 'Name', required: true, maxLength: 200, placeholder: 'Order service' },
            scopes: { label: 'Scopes', options: APPLICATION_SCOPES, many: true, required: true },
          }}
          run={async ({ name, scopes }) => {
            const { body } = await send<CreatedApplication>('POST', 'applications', {
              name,
              scopes: wordsOf(scopes),
            });
            setMade(body);
          }}
        />
      </Head>
      <Table
        label="Applications"
        list={list}
        keyOf={({ client_id }) => client_id}
        columns={[
          [
            'Name',
            ({ client_id, name }) => <RowLink page={`applications/${client_id}`}>{name}</RowLink>,
            'clip',
          ],
          ['Scopes', ({ scopes }) => <Words of={scopes} none="none" most={3} />],
          ['Agent', ({ agent_id }) => <AgentLink id={agent_id} />],
          ['Secrets', ({ secrets }) => secrets.length, 'number'],
          ['Created', ({ created_at }) => <Ago time={created_at} />],
          ['Client id', ({ client_id }) => <Id value={client_id} />],
        ]}
        empty={<Empty title="There is no application." />}
      />
      {made?.client_secret !== undefined && (
        <Secret value={made.client_secret} onClose={() => open(`applications/${made.client_id}`)}>
          <p>The application is created. It authenticates as {made.client_id} with this secret:</p>
        </Secret>
      )}
    </>
  );
}

function AgentLink({ id }: { id: string | null }) {
  return id === null ? <Text of={null} /> : <To page={`agents/${id}`}>its agent</To>;
}

export function ApplicationPage({ id }: { id: string }) {
  const path = `applications/${encodeURIComponent(id)}`;
  const { data, error, reload } = useLoaded(path, () => get<Application>(path), 10_000);
  if (data === undefined) return <Pending title="Application" error={error} list="applications" />;
  const { name, client_id, audience, scopes, grant_types, agent_id, jwks } = data;
  return (
    <>
      <Head title={name} about="An application authenticates with a secret or a key of its own.">
        <FormOpener
          label="Edit…"
          title={`Name and scopes of ${name}`}
          action="Save"
          fields={{
            name: { label: 'Name', required: true, maxLength: 200, value: name },
            scopes: {
              ...{ label: 'Scopes', options: APPLICATION_SCOPES, many: true, required: true },
              value: scopes.join(' '),
            },
          }}
          run={(typed) =>
            send('PATCH', path, { name: typed.name, scopes: wordsOf(typed.scopes) }).then(reload)
          }
        >
          <p class="faint">Its tokens end when it loses a scope; it then asks for new ones.</p>
        </FormOpener>
        <Ask
          label="Delete…"
          title={`Delete ${name}?`}
          action="Delete application"
          danger
          run={() => send('DELETE', path).then(() => open('applications'))}
        >
          <p>Its secrets prove nothing from now on, and its tokens end. It cannot come back.</p>
        </Ask>
      </Head>
      <Failure error={error} />
      <Facts
        of={{
          'Client id': <Id value={client_id} whole />,
          Scopes: <Words of={scopes} none="none" />,
          Audience: audience,
          Grants: <Words of={grant_types} none="none" />,
          'Acts for': <AgentLink id={agent_id} />,
          Keys:
            jwks === null ? 'none: it authenticates with a secret' : `${jwks.keys.length}, in its JWK set`,
          Tokens: data.dpop_bound_access_tokens ? 'bound to a key (DPoP)' : 'bearer tokens',
          Created: <Ago time={data.created_at} />,
        }}
      />
      <Secrets of={data} path={path} onDone={reload} />
    </>
  );
}

function Secrets({ of, path, onDone }: { of: Application; path: string; onDone: () => void }) {
  const [secret, setSecret] = useState<string>();
  const add = async (): Promise<void> => {
    const { body } = await send<CreatedSecret>('POST', `${path}/secrets`, {});
    setSecret(body.client_secret);
    onDone();
  };
  return (
    <Part title="Secrets" note="two at most, so that a new one can take over">
      <Table
        label="Secrets"
        list={{ data: of.secrets }}
        keyOf={({ id }) => id}
        columns={[
          ['Secret', ({ id }) => <Id value={id} />],
          ['Made', ({ created_at }) => <Ago time={created_at} />],
          ['Ends', ({ expires_at }) => <Ago time={expires_at} none="not by itself" />],
          [
            'Action',
            ({ id }) => (
              <Ask
                label="End…"
                class="small danger"
                title="End this secret?"
                action="End secret"
                danger
                run={() => send('DELETE', `${path}/secrets/${id}`).then(onDone)}
              >
                <p>
                  It proves nothing from now on, and the application's tokens end, also those of its other
                  secret.
                </p>
              </Ask>
            ),
          ],
        ]}
        empty={<Empty title="It has no secret." />}
      />
      <Ask label="New secret…" title="Add a secret?" action="Add secret" run={add}>
        <p>The present one works on. End it once the application uses the new one.</p>
      </Ask>
      {secret !== undefined && (
        <Secret value={secret} onClose={() => setSecret(undefined)}>
          <p>{of.name} can authenticate with this secret, too:</p>
        </Secret>
      )}
    </Part>
  );
}

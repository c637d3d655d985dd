// The settings of the tenant: its name, its addresses, and how its tokens are signed and bound.
import { get, send } from '../api.ts';
import { FormOpener } from '../forms.tsx';
import { useLoaded } from '../hooks.ts';
import type { Tenant } from '../types.ts';
import { Ago, Facts, Failure, Head, Id, Part, Waiting } from '../ui.tsx';

const PROFILES: Readonly<Record<Tenant['security_profile'], string>> = {
  none: 'none: bearer tokens and client secrets are allowed',
  fapi2: 'fapi2: every token is bound to a key, no client secrets',
};

export function Settings() {
  const { data, error, reload } = useLoaded('tenant', () => get<Tenant>('tenant'), 15_000);
  if (data === undefined)
    return (
      <>
        <Head title="Settings" />
        {error === undefined ? <Waiting /> : <Failure error={error} />}
      </>
    );
  return (
    <>
      <Head title="Settings" about="What holds for the whole tenant.">
        <FormOpener
          label="Edit…"
          title="Settings of the tenant"
          action="Save"
          fields={{
            name: { label: 'Name', required: true, maxLength: 200, value: data.name },
            audience: {
              ...{ label: 'Audience', maxLength: 500, placeholder: data.base_url },
              // Saved as it is, it would no longer follow the base URL.
              value: data.audience === data.base_url ? '' : data.audience,
              hint: 'The `aud` of tokens, unless an agent names its own. Empty: the base URL.',
            },
            signing_algorithm: {
              ...{ label: 'Signing algorithm', options: ['ES256', 'EdDSA'], value: data.signing_algorithm },
              hint: 'A new one signs ten minutes after its key is published.',
            },
          }}
          run={({ audience, ...others }) =>
            send('PATCH', 'tenant', { ...others, audience: audience || null }).then(reload)
          }
        />
      </Head>
      <Failure error={error} />
      <Facts
        of={{
          Name: data.name,
          Audience: data.audience,
          Signing: data.signing_algorithm,
          Profile: PROFILES[data.security_profile],
          Created: <Ago time={data.created_at} />,
        }}
      />
      <Part title="Addresses" note="for agents, resource servers and receivers">
        <Facts
          of={{
            Issuer: <Id value={data.issuer_url} whole />,
            API: <Id value={data.base_url} whole />,
            Tenant: <Id value={data.id} whole />,
          }}
        />
      </Part>
    </>
  );
}

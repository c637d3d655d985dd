// The settings of the tenant: its name, its addresses, how its tokens are signed and bound, and for how long its rows
// are kept.
import { get, send } from '../api.ts';
import { count } from '../format.ts';
import { type Field, FormOpener } from '../forms.tsx';
import { useLoaded } from '../hooks.ts';
import type { Tenant } from '../types.ts';
import { Ago, Facts, Failure, Head, Id, Part, Waiting } from '../ui.tsx';

const PROFILES: Readonly<Record<Tenant['security_profile'], string>> = {
  none: 'none: bearer tokens and client secrets are allowed',
  fapi2: 'fapi2: every token is bound to a key, no client secrets',
};

type Kept = keyof Tenant['retention'];

const KEPT = {
  deliveries_days: 'Days of deliveries',
  events_days: 'Days of events',
  audit_addresses_days: 'Days of client addresses in the audit log',
} as const satisfies Record<Kept, string>;

/** Empty fields follow the operator; a number that equals the operator's is the same. */
function keptFields({ retention, retention_bounds: bounds }: Tenant): Record<Kept, Field> {
  const fieldOf = (name: Kept, more = ''): Field => {
    const { least, most } = bounds[name];
    const value = retention[name] === most ? '' : String(retention[name]);
    const hint = `${most === null ? `At least ${least}` : `${least} to ${most}`}${more}. Empty: ${most ?? 'for ever'}.`;
    return { label: KEPT[name], maxLength: 5, placeholder: String(most ?? ''), value, hint };
  };
  return {
    deliveries_days: fieldOf('deliveries_days'),
    events_days: fieldOf('events_days', ', no fewer than of deliveries'),
    audit_addresses_days: fieldOf('audit_addresses_days'),
  };
}

/** @returns null for an empty field; a text that is no number is sent as it is, and refused with the field's name */
const daysOf = (text: string) => (text === '' ? null : /^\d+$/.test(text) ? Number(text) : text);

const shown = (days: number | null) => (days === null ? 'as long as the audit log' : count(days, 'day'));

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
              hint: 'The aud of tokens, unless an agent names its own. Empty: the base URL.',
            },
            signing_algorithm: {
              ...{ label: 'Signing algorithm', options: ['ES256', 'EdDSA'], value: data.signing_algorithm },
              hint: 'A new one signs ten minutes after its key is published.',
            },
            ...keptFields(data),
          }}
          run={({ audience, deliveries_days, events_days, audit_addresses_days, ...others }) =>
            send('PATCH', 'tenant', {
              ...others,
              audience: audience || null,
              retention: {
                deliveries_days: daysOf(deliveries_days),
                events_days: daysOf(events_days),
                audit_addresses_days: daysOf(audit_addresses_days),
              },
            }).then(reload)
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
      <Part title="Kept" note="what is older is removed">
        <Facts
          of={{
            Deliveries: shown(data.retention.deliveries_days),
            Events: shown(data.retention.events_days),
            'Client addresses': shown(data.retention.audit_addresses_days),
          }}
        />
      </Part>
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

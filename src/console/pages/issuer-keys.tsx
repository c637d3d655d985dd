// The keys that sign the tenant's tokens, and when the next one takes over.
import { get } from '../api.ts';
import { useLoaded } from '../hooks.ts';
import type { IssuerKeySchedule } from '../types.ts';
import { Ago, Empty, Head, Id, Status, Table } from '../ui.tsx';

export function IssuerKeys() {
  const { data, error } = useLoaded(
    'issuer-keys',
    () => get<IssuerKeySchedule>('tenant/issuer-keys'),
    30_000,
  );
  return (
    <>
      <Head
        title="Issuer keys"
        about={
          data === undefined ? (
            'What signs the tokens of this tenant.'
          ) : (
            <span>
              What signs the tokens of this tenant. The next rotation is <Ago time={data.next_rotation_at} />.
            </span>
          )
        }
      />
      <Table
        label="Issuer keys"
        list={{ data: data?.data, error }}
        keyOf={(key) => key.kid}
        columns={[
          ['State', (key) => <Status of={key.state} />],
          ['Key', (key) => <Id value={key.kid} />],
          [
            'Algorithm',
            (key) => `${key.algorithm}${key.algorithm === 'RS256' ? ' · security event tokens' : ''}`,
          ],
          ['Published', (key) => <Ago time={key.published_at} />],
          ['Signs from', (key) => <Ago time={key.activate_at} />],
          ['Retires', (key) => <Ago time={key.retire_at} />],
          ['Leaves the JWKS', (key) => <Ago time={key.revoked_at ?? key.remove_at} />],
        ]}
        empty={<Empty title="There is no key." />}
      />
    </>
  );
}

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
        heads={['State', 'Key', 'Algorithm', 'Published', 'Signs from', 'Retires', 'Leaves the JWKS']}
        rows={data?.data}
        error={error}
        empty={<Empty title="There is no key." />}
      >
        {(key) => (
          <tr key={key.kid}>
            <td>
              <Status of={key.state} />
            </td>
            <td>
              <Id value={key.kid} />
            </td>
            <td>
              {key.algorithm}
              {key.algorithm === 'RS256' && <span class="faint"> security event tokens</span>}
            </td>
            <td>
              <Ago time={key.published_at} />
            </td>
            <td>
              <Ago time={key.activate_at} />
            </td>
            <td>
              <Ago time={key.retire_at} />
            </td>
            <td>
              <Ago time={key.revoked_at ?? key.remove_at} />
            </td>
          </tr>
        )}
      </Table>
    </>
  );
}

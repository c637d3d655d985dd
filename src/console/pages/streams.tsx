// Streams of security events (Shared Signals Framework) that this application has created, and a form for a new one.
import { get, send } from '../api.ts';
import { Ask } from '../dialogs.tsx';
import { FormOpener } from '../forms.tsx';
import { useLoaded } from '../hooks.ts';
import type { Stream, StreamStatus } from '../types.ts';
import { Empty, Head, Id, Status, Table, Text, Words } from '../ui.tsx';

const PUSH = 'urn:ietf:rfc:8935';

type Shown = Stream & Pick<StreamStatus, 'status'>;

export function Streams() {
  const { data, error, reload } = useLoaded('streams', readStreams);
  const change = (stream_id: string, status: StreamStatus['status']) =>
    send('POST', 'ssf/status', { stream_id, status }).then(reload);
  return (
    <>
      <Head
        title="Streams"
        about="Security events for receivers of the Shared Signals Framework, by application."
      >
        {/* Not polled: each stream is a request. */}
        <button type="button" onClick={reload}>
          Refresh
        </button>
        <FormOpener
          label="New stream…"
          class="primary"
          title="New stream"
          action="Create"
          fields={{
            endpoint_url: {
              ...{ label: 'Address', type: 'url', placeholder: 'https://receiver.example.com/events' },
              hint: 'Where tokens are pushed (RFC 8935). Without one the receiver polls (RFC 8936).',
            },
            authorization_header: { label: 'Authorization header', placeholder: 'Bearer …' },
            description: { label: 'Description', maxLength: 1_000 },
          }}
          run={({ endpoint_url, authorization_header, description }) =>
            send('POST', 'ssf/streams', {
              ...(endpoint_url !== '' && {
                delivery: {
                  ...{ method: PUSH, endpoint_url },
                  ...(authorization_header !== '' && { authorization_header }),
                },
              }),
              ...(description !== '' && { description }),
            }).then(reload)
          }
        />
      </Head>
      <Table
        label="Streams"
        list={{ data, error }}
        keyOf={({ stream_id }) => stream_id}
        columns={[
          ['Status', ({ status }) => <Status of={status} />],
          ['Delivery', ({ delivery: { method } }) => (method === PUSH ? 'push' : 'poll')],
          ['Address', ({ delivery: { endpoint_url } }) => <Text of={endpoint_url} />, 'clip'],
          [
            'Events',
            ({ events_delivered }) => <Words of={events_delivered.map(lastOf)} none="none" most={2} />,
          ],
          ['Description', ({ description = null }) => <Text of={description} />, 'clip'],
          ['Id', ({ stream_id }) => <Id value={stream_id} />],
          [
            'Action',
            ({ stream_id, status }) => (
              <>
                <Ask
                  label={status === 'enabled' ? 'Pause…' : 'Enable…'}
                  class="small"
                  title={status === 'enabled' ? 'Pause this stream?' : 'Enable this stream?'}
                  action={status === 'enabled' ? 'Pause stream' : 'Enable stream'}
                  run={() => change(stream_id, status === 'enabled' ? 'paused' : 'enabled')}
                >
                  <p>
                    {status === 'enabled'
                      ? 'Its tokens are held, and sent once it is enabled.'
                      : 'Its tokens are sent, also those that were held.'}
                  </p>
                </Ask>{' '}
                <Ask
                  label="Delete…"
                  class="small danger"
                  title="Delete this stream?"
                  action="Delete stream"
                  danger
                  run={() => send('DELETE', `ssf/streams?stream_id=${stream_id}`).then(reload)}
                >
                  <p>The tokens that it still holds are dropped.</p>
                </Ask>
              </>
            ),
          ],
        ]}
        empty={
          <Empty title="This application has no stream.">
            Webhooks carry the same events; a stream is for receivers of the Shared Signals Framework.
          </Empty>
        }
      />
    </>
  );
}

/** Reads the streams, each with its status, which the list does not have. */
async function readStreams(): Promise<readonly Shown[]> {
  const found = await get<Stream | readonly Stream[]>('ssf/streams');
  return Promise.all(
    [found].flat().map(async (stream) => {
      const { status } = await get<StreamStatus>('ssf/status', { stream_id: stream.stream_id });
      return { ...stream, status };
    }),
  );
}

/** @returns the last segment of an event's URI */
function lastOf(uri: string): string {
  return uri.slice(uri.lastIndexOf('/') + 1);
}

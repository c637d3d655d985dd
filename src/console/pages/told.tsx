// Who will be told that an agent's access ends, in the dialogs that ask before it is ended.
import { get } from '../api.ts';
import { count } from '../format.ts';
import { useLoaded } from '../hooks.ts';
import type { ReceiverCount } from '../types.ts';
import { NotLoaded, Waiting } from '../ui.tsx';

/** @param agentPath of the agent in the API */
export function Told({ agentPath, cause }: { agentPath: string; cause: ReceiverCount['cause'] }) {
  const { data, error } = useLoaded(`${agentPath} ${cause}`, () =>
    get<ReceiverCount>(`${agentPath}/receivers`, { cause }),
  );
  if (data === undefined) return error === undefined ? <Waiting rows={1} /> : <NotLoaded error={error} />;
  return (
    <p>
      <strong>{count(data.receivers, 'receiver')} will be told.</strong>
      {data.receivers === 0 &&
        ' No webhook or stream asks for this event: resource servers that follow no feed take its tokens until they end.'}
    </p>
  );
}

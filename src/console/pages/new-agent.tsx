// The form for a new agent, which ends in the commands with which it registers its key.
import { useState } from 'preact/hooks';
import { send } from '../api.ts';
import { FormOpener, wordsOf } from '../forms.tsx';
import { open } from '../router.ts';
import { AGENT_SCOPES, type Agent } from '../types.ts';
import { Enroll } from './enrollment.tsx';

export function NewAgent() {
  const [made, setMade] = useState<Agent>();
  return (
    <>
      <FormOpener
        label="New agent…"
        class="primary"
        title="New agent"
        action="Create"
        fields={{
          name: { label: 'Name', required: true, maxLength: 200, placeholder: 'invoice-bot' },
          scopes: {
            ...{ label: 'Scopes', options: AGENT_SCOPES, many: true, value: 'openid' },
            hint: 'What its tokens may carry. Without one it gets no token.',
          },
          audiences: {
            ...{ label: 'Audiences', placeholder: 'https://api.example.com' },
            hint: 'The services that its tokens may be for, with spaces between; without one, this service.',
          },
          owner: { label: 'Owner', maxLength: 200, placeholder: 'purchasing@example.com' },
          purpose: { label: 'Purpose', type: 'area', maxLength: 2_000 },
        }}
        run={async ({ name, scopes, audiences, owner, purpose }) => {
          const { body } = await send<Agent>('POST', 'agents', {
            ...{ name, scopes: wordsOf(scopes), audiences: wordsOf(audiences) },
            ...{ owner: owner || null, purpose: purpose || null },
          });
          setMade(body);
        }}
      />
      {made !== undefined && <Enroll agent={made} onClose={() => open(`agents/${made.id}`)} />}
    </>
  );
}

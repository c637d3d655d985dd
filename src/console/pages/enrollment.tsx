// The dialog that hands an agent over: commands with an enrollment token, shown once, and whether it was used.
import { useEffect, useState } from 'preact/hooks';
import { send } from '../api.ts';
import { Notice } from '../dialogs.tsx';
import { ENROLLMENT_COMMANDS, issuerOf } from '../enrollment.ts';
import { useAction, useList } from '../hooks.ts';
import type { Agent, CreatedEnrollment, Enrollment } from '../types.ts';
import { Ago, Copy, Failure, Status, Waiting } from '../ui.tsx';

const EVERY_MS = 3_000;
const LANGUAGES = ['Shell', 'JavaScript', 'Python'] as const;

/** Makes an enrollment token as soon as it is shown. */
export function Enroll({ agent, onClose }: { agent: Agent; onClose: () => void }) {
  const [made, setMade] = useState<CreatedEnrollment>();
  const asking = useAction();
  const path = `agents/${agent.id}/enrollment-tokens`;
  useEffect(() => {
    void asking.run(async () => setMade((await send<CreatedEnrollment>('POST', path, {})).body));
  }, []);
  return (
    <Notice title={`Let ${agent.name} register its key`} onClose={onClose}>
      <Failure error={asking.error} />
      {made !== undefined ? (
        <Commands agent={agent} path={path} made={made} />
      ) : (
        asking.error === undefined && <Waiting rows={8} />
      )}
    </Notice>
  );
}

interface CommandsProps {
  readonly agent: Agent;
  readonly path: string;
  readonly made: CreatedEnrollment;
}

function Commands({ agent, path, made }: CommandsProps) {
  const [language, setLanguage] = useState<(typeof LANGUAGES)[number]>('Shell');
  const list = useList<Enrollment>(path, {}, EVERY_MS);
  const status = list.data?.find(({ id }) => id === made.id)?.status ?? 'open';
  const { token = '', tenant_id, agent_id, enroll_url } = made;
  const text = ENROLLMENT_COMMANDS[language](
    { token, tenant_id, agent_id, enroll_url },
    issuerOf(made),
    agent.scopes.join(' '),
  );
  return (
    <>
      <p>
        Run this where the agent runs. Its private key is made there and stays there; the token in it
        registers one key and ends <Ago time={made.expires_at} />.
      </p>
      <div class="tabs">
        {LANGUAGES.map((name) => (
          <button key={name} type="button" aria-pressed={name === language} onClick={() => setLanguage(name)}>
            {name}
          </button>
        ))}
      </div>
      <div class="json">
        <Copy value={text} label="Copy the commands" />
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
        <pre tabIndex={0}>{text}</pre>
      </div>
      <p aria-live="polite">
        {status === 'used' ? (
          <Status of="verified" word="The agent has registered its key." />
        ) : (
          <Status of="pending" word={`The token is ${status}: the agent has no key by it yet.`} />
        )}
      </p>
      <p class="faint">It is shown once. After this dialog nobody can read the token again.</p>
    </>
  );
}

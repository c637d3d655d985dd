// Signing in by an application's credentials. They go to the service and are not kept in the browser.
import { useRef } from 'preact/hooks';
import { useAction } from '../hooks.ts';
import { ApiError, type Session, signIn } from '../session.ts';
import { Failure } from '../ui.tsx';

interface SignInProps {
  readonly error: unknown;
  /** The name of the tenant whose session has ended on the page that is open. */
  readonly ended: string | undefined;
  readonly onDone: (session: Session) => void;
}

export function SignIn({ error, ended, onDone }: SignInProps) {
  const doing = useAction();
  const id = useRef<HTMLInputElement>(null);
  const secret = useRef<HTMLInputElement>(null);
  const run = async (): Promise<void> => {
    const credentials = {
      client_id: id.current?.value.trim() ?? '',
      client_secret: secret.current?.value ?? '',
    };
    const session = await signIn(credentials);
    if (session === undefined) throw new Error('The browser has not kept the session: are cookies off?');
    onDone(session);
  };
  return (
    <main class="sign-in" id="main">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void doing.run(run);
        }}
      >
        <h1>Countersign</h1>
        <p class="faint">
          Sign in with an application of this tenant. Its scopes decide what you can see and do.
        </p>
        {ended !== undefined && (
          <p role="status">
            <strong>Your session at {ended} has ended.</strong> Sign in again: this page comes back.
          </p>
        )}
        <label>
          Client id
          <input ref={id} required autocomplete="username" spellcheck={false} />
        </label>
        <label>
          Client secret
          <input ref={secret} required type="password" autocomplete="current-password" />
        </label>
        <Failure error={doing.error ?? (doing.busy ? undefined : error)} />
        {doing.error instanceof ApiError && doing.error.problem.error === 'invalid_client' && (
          <p>The id or the secret is wrong, or the application belongs to another tenant.</p>
        )}
        <button type="submit" class="primary" disabled={doing.busy}>
          Sign in
        </button>
        <p class="faint">
          Or run <code>countersign console</code>: it opens this page signed in.
        </p>
      </form>
    </main>
  );
}

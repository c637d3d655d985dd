// The shell around the pages: sign-in, navigation, help, and which page an address shows.
import { useEffect, useState } from 'preact/hooks';
import { whenSignedOut } from './api.ts';
import { Notice } from './dialogs.tsx';
import { LETTERS, useKeyboard } from './keyboard.ts';
import { AgentPage } from './pages/agent.tsx';
import { Agents } from './pages/agents.tsx';
import { ApplicationPage, Applications } from './pages/applications.tsx';
import { Audit } from './pages/audit.tsx';
import { Deliveries } from './pages/deliveries.tsx';
import { DeliveryPage } from './pages/delivery.tsx';
import { Events } from './pages/events.tsx';
import { IssuerKeys } from './pages/issuer-keys.tsx';
import { Issuers } from './pages/issuers.tsx';
import { Overview } from './pages/overview.tsx';
import { ReceiptPage } from './pages/receipt.tsx';
import { Settings } from './pages/settings.tsx';
import { SignIn } from './pages/sign-in.tsx';
import { Streams } from './pages/streams.tsx';
import { SubscriptionPage } from './pages/subscription.tsx';
import { Subscriptions } from './pages/subscriptions.tsx';
import { followLinks, pageAddress, type Route, useRoute } from './router.ts';
import { ensureSession, type Session, signIn, signOut, takeCode } from './session.ts';
import { ThemePicker } from './theme.tsx';
import { Empty, Facts, Head, To } from './ui.tsx';

const PAGES = [
  ['', 'Overview'],
  ['deliveries', 'Deliveries'],
  ['agents', 'Agents'],
  ['applications', 'Applications'],
  ['issuers', 'Trusted issuers'],
  ['subscriptions', 'Subscriptions'],
  ['streams', 'Streams'],
  ['events', 'Events'],
  ['audit', 'Audit log'],
  ['issuer-keys', 'Issuer keys'],
  ['settings', 'Settings'],
] as const;

type State = 'asking' | { readonly error?: unknown; readonly ended?: string } | Session;

export function App() {
  const [state, setState] = useState<State>('asking');
  useEffect(() => {
    whenSignedOut(() =>
      setState((old) => (old !== 'asking' && 'access_token' in old ? { ended: old.tenant.name } : old)),
    );
    const code = takeCode();
    const begin = code === undefined ? ensureSession() : signIn({ code });
    begin.then(
      (session) => setState(session ?? {}),
      (error: unknown) => setState({ error }),
    );
  }, []);
  if (state === 'asking') return <main id="main" aria-busy="true" />;
  if (!('access_token' in state)) return <SignIn error={state.error} ended={state.ended} onDone={setState} />;
  const leave = () => {
    setState('asking');
    void signOut().finally(() => setState({}));
  };
  return <Shell session={state} onSignOut={leave} />;
}

function Shell({ session, onSignOut }: { session: Session; onSignOut: () => void }) {
  const route = useRoute();
  const [isHelping, setHelping] = useState(false);
  useKeyboard(() => setHelping(true));
  const present = route.parts[0] ?? '';
  const path = route.parts.join('/');
  useEffect(() => scrollTo(0, 0), [path]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it follows the links inside
    // biome-ignore lint/a11y/useKeyWithClickEvents: Enter on a link is a click
    <div class="shell" onClick={followLinks}>
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <nav aria-label="Pages">
        <p class="brand">
          <Mark /> Countersign <small>{session.tenant.name}</small>
        </p>
        <ul>
          {PAGES.map(([page, title]) => (
            <li key={page}>
              <a href={pageAddress(page)} {...(page === present && { 'aria-current': 'page' })}>
                {title}
              </a>
            </li>
          ))}
        </ul>
        <div class="foot">
          <p title={`${session.client_id}\nscopes: ${session.scope}`}>{session.application}</p>
          <ThemePicker />
          <button type="button" class="quiet" onClick={() => setHelping(true)}>
            Keys ?
          </button>
          <button type="button" class="quiet" onClick={onSignOut}>
            Sign out
          </button>
        </div>
      </nav>
      <main id="main" tabIndex={-1}>
        <Chosen key={path} route={route} session={session} />
      </main>
      {isHelping && <Help onClose={() => setHelping(false)} />}
    </div>
  );
}

function Chosen({ route, session }: { route: Route; session: Session }) {
  const [page, id, part, partId] = route.parts;
  if (page === undefined) return <Overview tenant={session.tenant.name} />;
  if (page === 'agents' && id !== undefined && part === 'receipts' && partId !== undefined)
    return <ReceiptPage agentId={id} id={partId} />;
  if (part === undefined && id !== undefined) {
    if (page === 'deliveries') return <DeliveryPage id={id} />;
    if (page === 'agents') return <AgentPage id={id} />;
    if (page === 'applications') return <ApplicationPage id={id} />;
    if (page === 'subscriptions') return <SubscriptionPage id={id} />;
  }
  if (id === undefined) {
    if (page === 'deliveries') return <Deliveries {...route} />;
    if (page === 'agents') return <Agents {...route} />;
    if (page === 'applications') return <Applications />;
    if (page === 'issuers') return <Issuers />;
    if (page === 'subscriptions') return <Subscriptions />;
    if (page === 'streams') return <Streams />;
    if (page === 'events') return <Events {...route} />;
    if (page === 'audit') return <Audit {...route} />;
    if (page === 'issuer-keys') return <IssuerKeys />;
    if (page === 'settings') return <Settings />;
  }
  return (
    <>
      <Head title="Not found" />
      <Empty title="There is no such page.">
        <To page="">Go to the overview</To>
      </Empty>
    </>
  );
}

/** The mark, as in the icon of the page. */
function Mark() {
  return (
    <svg class="mark" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <rect width="16" height="16" rx="4" />
      <path d="M4 8.5l3 3 5-7" />
    </svg>
  );
}

function Help({ onClose }: { onClose: () => void }) {
  const letters = Object.entries(LETTERS).map(
    ([letter, page]) => [`g ${letter}`, PAGES.find(([name]) => name === page)?.[1] ?? page] as const,
  );
  return (
    <Notice title="Keys" onClose={onClose}>
      <Facts
        of={{
          'j, k': 'next and previous row',
          Enter: 'open the row',
          '←, →': 'next and previous bar of a chart',
          '/': 'go to the filter',
          ...Object.fromEntries(letters),
        }}
      />
    </Notice>
  );
}

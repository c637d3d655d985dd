// Which pages of `docs` are served as guides, in the order of the menu. Pages that need the clone, such as those of
// the house and of a deployment, are not; those of docs/operations are, because details in Temporal lead to them.

/** For those who use a tenant: name of the page, its title in the menu, and what it answers. */
export const GUIDES = [
  ['receiving', 'Receive deliveries', 'verify the signature, answer, retries, receivers in ten lines'],
  ['receiving-platforms', 'Receivers by platform', 'Lambda, Firebase, NestJS, Fastify, Next.js, FastAPI'],
  ['events', 'Publish and read events', 'types, publishing, the feed, waiting for the next event'],
  ['agents', 'Log an agent in', 'keys, enrollment, challenge and its signature, tokens and their renewal'],
  ['key-rotation', "Rotate an agent's key", 'a new key, with a time in which both work'],
  ['workloads', 'Workloads', 'Kubernetes, GitHub Actions and SPIFFE get tokens without a stored credential'],
  ['token-exchange', 'Act for a user', 'delegations, trusted issuers, exchange of tokens (RFC 8693)'],
  [
    'resource-servers',
    'Guard an API',
    'validate tokens, scopes and capabilities; learn of revocations in a second',
  ],
  ['clients', 'Libraries of applications', 'what OAuth libraries need'],
  [
    'shared-signals',
    'Shared signals',
    'security event tokens: sessions, keys and delegations that have ended',
  ],
  ['audit-log', 'Audit log', 'who did what, and how to prove that nothing was changed'],
  ['retention', 'Retention', 'for how long rows are kept, and how to keep them shorter'],
  ['errors', 'Handle errors', 'the form of an error, each code, what may be repeated'],
  ['limits', 'Limits', 'requests a minute, and answers of 429 and 503'],
  ['console', 'Console', 'signing in, sessions, what each page shows'],
  ['command-line', 'Command line', 'listen, trigger, verify-receiver, sign, token and the other commands'],
  ['glossary', 'Glossary', 'one word for one thing'],
  ['specification', 'Specification', 'the contract of the wire'],
].map(([name, title, about]) => ({ name, title, about }));

/** The folder of the pages for operators. */
export const OPERATIONS = 'operations';

/** The address of a page below the address of a tenant; of the list without a name. */
export const pathOfGuide = (name) => `/docs/guides${name === undefined ? '' : `/${name}`}`;

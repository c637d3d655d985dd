// The catalogue of error codes: published whole, and true: what is not reserved is caused somewhere, what is reserved
// nowhere.
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ADVICE } from '../../../src/platform/errors/advice.ts';
import { ERRORS, type ErrorCode, publishErrors } from '../../../src/platform/errors/catalogue.ts';
import { errorsOf } from '../../../src/platform/http/contract.ts';
import { loadAllRoutes } from '../http/route-table.ts';

const published = publishErrors();
const routes = await loadAllRoutes();

/** What the shell answers to requests that never reach a route; everything else is some route's (see errorsOf). */
const SHELL: readonly ErrorCode[] = ['method_not_allowed'];

/** Source that causes errors: not the tables of codes, and not what only declares them. */
const source = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter(
    (file) =>
      file.endsWith('.ts') && !/^platform\/errors\/|\.routes\.ts$|http\/(contract|openapi)/.test(file),
  )
  .map((file) => readFileSync(`src/${file}`, 'utf8'))
  .join('\n');

describe('the catalogue of error codes', () => {
  it('is published whole, each code once, with a meaning of its own', () => {
    expect(published.map(({ code }) => code).sort()).toEqual(Object.keys(ERRORS).sort());
    expect(new Set(published.map(({ meaning }) => meaning)).size).toBe(published.length);
  });

  it('holds every code of the specification', () => {
    const codes = published.map(({ code }) => code);
    expect(codes).toEqual(expect.arrayContaining(SPECIFIED.split(' ')));
  });

  it.each(published.filter(({ reserved }) => !reserved))('$code is caused by the service', ({ code }) => {
    const declared = [...SHELL, ...routes.flatMap(errorsOf)];
    expect(declared).toContain(code);
    expect(source).toContain(`'${code}'`);
  });

  it.each(published.filter(({ reserved }) => reserved))(
    '$code is reserved, and no route answers it',
    ({ code }) => {
      expect(
        routes.filter((route) => errorsOf(route).includes(code)).map((route) => route.operationId),
      ).toEqual([]);
    },
  );

  it('lets be repeated only what a server or its limits have refused, or a nonce', () => {
    const retryable = published.filter((entry) => entry.retryable).map(({ statuses }) => statuses[0]);
    expect(
      retryable.every(
        (status) => status !== undefined && (status >= 500 || [400, 408, 409, 429].includes(status)),
      ),
    ).toBe(true);
    expect(
      published.filter(({ statuses }) => (statuses[0] ?? 0) >= 500).every((entry) => entry.retryable),
    ).toBe(true);
  });
});

const SPECIFIED =
  `challenge_expired challenge_used key_revoked key_not_found invalid_signature invalid_scope invalid_grant unsupported_grant_type
invalid_client unauthorized_client invalid_redirect_uri pkce_required insufficient_scope consent_required token_expired token_revoked
invalid_dpop_proof use_dpop_nonce delegation_expired policy_denied wallet_not_provisioned wallet_frozen budget_exceeded recipient_not_allowed
contract_not_allowed billing_feature_disabled billing_suspended rate_limited`.replaceAll('\n', ' ');

describe('docs/errors.md', () => {
  const written = readFileSync('docs/errors.md', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| `'));

  it('has one line for each code, as the catalogue has it', () => {
    const line = ({ code, statuses, meaning, retryable }: (typeof published)[number]) =>
      `| \`${code}\` | ${statuses.join(', ')} | ${retryable ? 'yes' : 'no'} | ${meaning} |`;
    expect(written).toEqual(published.map(line));
  });

  it('says what to do for each code that the service causes, below a heading that is the end of its type', () => {
    const page = readFileSync('docs/errors.md', 'utf8');
    const [, advice = ''] = /\n## What to do\n([\s\S]*?)\n## Reserved\n/.exec(page) ?? [];
    const headings = [...advice.matchAll(/^### (\S+)\n\S/gm)].map(([, heading]) => heading);
    const caused = published.filter(({ reserved }) => !reserved);
    expect(headings).toEqual(caused.map(({ code }) => code.replaceAll('_', '-')));
    expect(Object.keys(ADVICE)).toEqual(caused.map(({ code }) => code));
    // As the rendered page has it; only a link to a page of this folder may follow.
    const sections = advice.split(/^### .+\n/m).slice(1);
    const texts = sections.map((section) => section.trim().replace(/\s+/g, ' '));
    expect(texts.map((text) => text.replace(/ See \[\S+\]\(\S+\)\.$/, ''))).toEqual(Object.values(ADVICE));
  });

  it('keeps the reserved codes in a table of their own', () => {
    const [before = '', reserved = ''] = readFileSync('docs/errors.md', 'utf8').split('\n## Reserved');
    for (const entry of published)
      expect(entry.reserved ? reserved : before, entry.code).toContain(`\n| \`${entry.code}\` |`);
  });
});

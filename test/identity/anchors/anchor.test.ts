// Domain names as anchors take them: every spelling of a name gives one form, and what is no public name is refused.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { normalizeDomain } from '../../../src/identity/anchors/anchor.ts';

const domainOf = (text: string) => {
  const normalized = normalizeDomain(text);
  return 'domain' in normalized ? normalized.domain : undefined;
};
const problemOf = (text: string) => {
  const normalized = normalizeDomain(text);
  return 'problem' in normalized ? normalized.problem : undefined;
};

describe('a domain name', () => {
  it.each([
    ['example.com', 'example.com'],
    ['Agents.EXAMPLE.com', 'agents.example.com'],
    ['example.com.', 'example.com'],
    ['a-b.c--d.example', 'a-b.c--d.example'],
    ['1.example.com', '1.example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['BÜCHER.example', 'xn--bcher-kva.example'],
    ['bu\u0308cher.example', 'xn--bcher-kva.example'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['XN--BCHER-KVA.example', 'xn--bcher-kva.example'],
    ['faß.de', 'xn--fa-hia.de'],
    ['例え.テスト', 'xn--r8jz45g.xn--zckzah'],
    ['例え。テスト', 'xn--r8jz45g.xn--zckzah'],
    ['ｅｘａｍｐｌｅ．ｃｏｍ', 'example.com'],
    [`${'a'.repeat(63)}.example`, `${'a'.repeat(63)}.example`],
    [`${'a.'.repeat(119)}de`, `${'a.'.repeat(119)}de`],
  ])('is taken: %s', (text, domain) => {
    expect(normalizeDomain(text)).toEqual({ domain });
  });

  it.each([
    ['', 'is not a domain name'],
    ['.', 'is not a domain name'],
    ['..', 'is not a domain name'],
    ['.example.com', 'is not a domain name'],
    ['example..com', 'is not a domain name'],
    ['example.com..', 'is not a domain name'],
    ['-a.example', 'is not a domain name'],
    ['a-.example', 'is not a domain name'],
    ['_dmarc.example.com', 'is not a domain name'],
    ['*.example.com', 'is not a domain name'],
    ['exa mple.com', 'is not a domain name'],
    [' example.com', 'is not a domain name'],
    ['example.com\n', 'is not a domain name'],
    ['ex%61mple.com', 'is not a domain name'],
    ['exam\tple.com', 'is not a domain name'],
    ['example．com／path', 'is not a domain name'],
    ['example.com：443', 'is not a domain name'],
    ['\ud800.example', 'is not a domain name'],
    ['xn--a.example', 'is not a domain name'],
    [`${'a'.repeat(64)}.example`, 'is not a domain name'],
    ['a.1e1.0x7f', 'is not a domain name'],
    [`${'a.'.repeat(119)}com`, 'must be at most 240 characters in ASCII form'],
    ['https://example.com', 'must be a domain name alone, without scheme, port and path'],
    ['example.com:443', 'must be a domain name alone, without scheme, port and path'],
    ['example.com/', 'must be a domain name alone, without scheme, port and path'],
    ['example.com\\x', 'must be a domain name alone, without scheme, port and path'],
    ['example.com?x', 'must be a domain name alone, without scheme, port and path'],
    ['example.com#x', 'must be a domain name alone, without scheme, port and path'],
    ['me@example.com', 'must be a domain name alone, without scheme, port and path'],
    ['[::1]', 'must be a domain name alone, without scheme, port and path'],
    ['::1', 'must be a domain name alone, without scheme, port and path'],
    ['127.0.0.1', 'must not be an IP address'],
    ['192.0.2.1.', 'must not be an IP address'],
    ['0x7f.1', 'must not be an IP address'],
    ['0177.0.0.1', 'must not be an IP address'],
    ['2130706433', 'must not be an IP address'],
    ['１２７．０．０．１', 'must not be an IP address'],
    ['com', 'must be a domain name with at least two labels'],
    ['com.', 'must be a domain name with at least two labels'],
    ['localhost', 'must be a domain name with at least two labels'],
    ['a.localhost', 'is not a name of the public DNS'],
    ['A.LOCALHOST.', 'is not a name of the public DNS'],
    ['printer.local', 'is not a name of the public DNS'],
    ['db.internal', 'is not a name of the public DNS'],
    ['x.invalid', 'is not a name of the public DNS'],
    ['abc.onion', 'is not a name of the public DNS'],
    ['1.0.0.127.in-addr.arpa', 'is not a name of the public DNS'],
  ])('is refused: %j', (text, problem) => {
    expect(problemOf(text)).toBe(problem);
  });
});

describe('the form of a domain name', () => {
  const label = fc
    .stringMatching(/^[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?$/)
    .filter((text) => !/^..--/.test(text));
  const name = fc.tuple(
    fc.array(label, { minLength: 1, maxLength: 5 }),
    fc.constantFrom('com', 'de', 'example'),
  );
  const anyText = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.string({ unit: fc.constantFrom(...'aZ0.-_:/@%ü。．ß１[]\\ \t\u00ad\u200d'), maxLength: 20 }),
  );

  it('is the name itself for names in lower-case ASCII, and the same for each spelling', () => {
    fc.assert(
      fc.property(name, fc.boolean(), ([labels, top], dot) => {
        const domain = [...labels, top].join('.');
        expect(domainOf(domain)).toBe(domain);
        expect(domainOf(domain.toUpperCase() + (dot ? '.' : ''))).toBe(domain);
      }),
    );
  });

  it('is LDH labels whatever is sent, safe to put into a URL and a DNS question, and its own form', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const domain = domainOf(text);
        if (domain === undefined) return;
        expect(domain).toMatch(/^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);
        expect(domain.length).toBeLessThanOrEqual(240);
        expect(new URL(`https://${domain}/.well-known/countersign-anchor.txt`).hostname).toBe(domain);
        expect(domainOf(domain)).toBe(domain);
      }),
      { numRuns: 3_000 },
    );
  });
});

// Holds the rules for receiver URLs to a table of hostile forms.
import { describe, expect, it } from 'vitest';
import { parseNetworks } from '../../../src/platform/egress/address-rules.ts';
import { checkReceiverUrl, MAX_URL_LENGTH } from '../../../src/platform/egress/url-rules.ts';

const REFUSED: readonly [url: string, reason: string][] = [
  ['', 'malformed'],
  ['example.com/hook', 'malformed'],
  ['//example.com/hook', 'malformed'],
  ['https://', 'malformed'],
  ['https://exa mple.com/', 'malformed'],
  ['https://example.com/a\nb', 'malformed'],
  ['https://example.com\\@evil.example/', 'malformed'],
  ['https:\\\\example.com/', 'malformed'],
  [' https://example.com/', 'malformed'],
  ['https://[fe80::1%25eth0]/', 'malformed'],
  ['https://256.256.256.256/', 'malformed'],
  ['ftp://example.com/', 'scheme'],
  ['file:///etc/passwd', 'scheme'],
  ['javascript:alert(1)', 'scheme'],
  ['gopher://example.com/', 'scheme'],
  ['http://example.com/', 'plain_http'],
  ['http://8.8.8.8/', 'plain_http'],
  ['https://user@example.com/', 'credentials'],
  ['https://user:secret@example.com/', 'credentials'],
  ['https://:secret@example.com/', 'credentials'],
  ['https://example.com/#part', 'fragment'],
  ['https://example.com/#', 'fragment'],
  ['https://example.com:25/', 'port'],
  ['https://example.com:0/', 'port'],
  ['https://example.com:6667/', 'port'],
  ['https://localhost/', 'blocked_address'],
  ['http://localhost:8080/', 'blocked_address'],
  ['https://LOCALHOST/', 'blocked_address'],
  ['https://localhost./', 'host'],
  ['https://api.localhost/', 'host'],
  ['http://api.localhost/', 'host'],
  ['https://api.localhost./', 'host'],
  ['https://example.com./', 'host'],
  ['https://127.0.0.1/', 'blocked_address'],
  ['https://127.0.0.1./', 'blocked_address'],
  ['https://127.1/', 'blocked_address'],
  ['https://0177.0.0.1/', 'blocked_address'],
  ['https://0x7f.0.0.1/', 'blocked_address'],
  ['https://0x7f000001/', 'blocked_address'],
  ['https://2130706433/', 'blocked_address'],
  ['https://017700000001/', 'blocked_address'],
  ['https://１２７.０.０.１/', 'blocked_address'],
  ['https://127。0。0。1/', 'blocked_address'],
  ['https://①②⑦.⓪.⓪.①/', 'blocked_address'],
  ['https://%31%32%37.0.0.1/', 'blocked_address'],
  ['https://0/', 'blocked_address'],
  ['https://0.0.0.0/', 'blocked_address'],
  ['https://169.254.169.254/latest/meta-data/', 'blocked_address'],
  ['https://10.0.0.1/', 'blocked_address'],
  ['https://192.168.0.1/', 'blocked_address'],
  ['https://[::1]/', 'blocked_address'],
  ['https://[::]/', 'blocked_address'],
  ['https://[::ffff:127.0.0.1]/', 'blocked_address'],
  ['https://[::ffff:7f00:1]/', 'blocked_address'],
  ['https://[0:0:0:0:0:ffff:a9fe:a9fe]/', 'blocked_address'],
  ['https://[64:ff9b::7f00:1]/', 'blocked_address'],
  ['https://[fd00:ec2::254]/', 'blocked_address'],
  ['https://[2002:7f00:1::]/', 'blocked_address'],
  [`https://${'a'.repeat(63)}.${`${'b'.repeat(60)}.`.repeat(4)}example/`, 'host'],
  [`https://example.com/${'a'.repeat(MAX_URL_LENGTH)}`, 'too_long'],
];

const ACCEPTED = [
  'https://example.com/hook',
  'https://example.com:8443/hook?token=a%23b',
  'https://does-not-resolve.example/',
  'https://8.8.8.8/',
  'https://[2606:4700:4700::1111]:443/',
  'https://xn--mnchen-3ya.example/',
  'https://localhost.example.com/',
  'https://notlocalhost/',
];

describe('checkReceiverUrl', () => {
  it.each(REFUSED)('refuses %s (%s)', (url, reason) => {
    const verdict = checkReceiverUrl(url, []);
    expect(verdict).toMatchObject({ ok: false, reason });
    expect(verdict.ok || verdict.message.length > 0).toBe(true);
  });

  it('shows the form of an address where a text is none', () => {
    const verdict = checkReceiverUrl('127.0.0.1:9000/hooks', []);
    expect(verdict).toMatchObject({ message: 'must be an absolute URL, such as https://example.com/hooks' });
  });

  it.each(ACCEPTED)('accepts %s', (url) => {
    expect(checkReceiverUrl(url, []).ok).toBe(true);
  });

  describe('with loopback admitted', () => {
    const admitted = parseNetworks(['127.0.0.0/8', '::1/128']);

    it.each([
      'http://localhost:3000/hook',
      'https://localhost/',
      'http://127.0.0.1:3000/',
      'http://127.9.9.9/',
      'http://[::1]:3000/',
      'http://[::ffff:127.0.0.1]:3000/',
      'http://0x7f000001/',
      'https://127.0.0.1/',
    ])('accepts %s', (url) => {
      expect(checkReceiverUrl(url, admitted).ok).toBe(true);
    });

    it.each([
      ['http://localhost.:3000/', 'host'],
      ['http://api.localhost:3000/', 'host'],
      ['http://10.0.0.1/', 'blocked_address'],
      ['http://[fd00::1]/', 'blocked_address'],
      ['http://8.8.8.8/', 'plain_http'],
      ['http://example.com/', 'plain_http'],
      ['http://127.0.0.1.nip.io/', 'plain_http'],
    ])('refuses %s (%s)', (url, reason) => {
      expect(checkReceiverUrl(url, admitted)).toMatchObject({ ok: false, reason });
    });
  });

  it('says why in words that a person can act on', () => {
    expect(checkReceiverUrl('https://10.0.0.1/', [])).toMatchObject({
      message: 'must not point to 10.0.0.1 (private)',
    });
  });
});

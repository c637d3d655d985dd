// Parsers for the kinds of settings, with the message for a wrong value.
import { createHash } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import type { MasterKey } from './crypto/secret-box.node.ts';
import { parseWrappedKey } from './wrapped-key.ts';

export const wholeNumber = (least: number, most: number) =>
  z.string().transform((text, issue) => {
    const number = Number(text);
    if (/^\d{1,10}$/.test(text) && number >= least && number <= most) return number;
    return reject(issue, `must be a whole number from ${least} to ${most}`);
  });

/** The description of each variable says whether 0 means any free port or no port. */
export const port = wholeNumber(0, 65_535);

export const oneOf = <const Values extends readonly string[]>(values: Values) =>
  z.enum(values, { error: `must be one of ${values.join(', ')}` });

/** An http or https URL; a slash at its end is removed. */
export const webUrl = z.string().transform((text, issue) => {
  if (!isWebUrl(text)) return reject(issue, 'must be an absolute http or https URL');
  return text.replace(/(?<!\/)\/+$/, '');
});

export const origin = z.string().transform((text, issue) => {
  if (!isWebUrl(text)) return reject(issue, 'must be an absolute http or https URL');
  const url = new URL(text);
  if (url.pathname !== '/' || url.search || url.hash || url.username)
    return reject(issue, 'must be an origin: no path, query, fragment or credentials');
  return url.origin;
});

export const tenantUrl = z.string().transform((text, issue) => {
  if (!text.includes('{tenant}') || !isWebUrl(text.replaceAll('{tenant}', 'a')))
    return reject(issue, 'must be an http or https URL that contains {tenant}');
  return text.replace(/(?<!\/)\/+$/, '');
});

export const slug = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'must be a tenant slug (a DNS label)');

export const databaseUrl = z.string().transform((text, issue) => {
  if (/^postgres(ql)?:\/\//.test(text) && URL.canParse(text)) {
    // docs/operations/failover.md: one address leads to the primary.
    if (!new URL(text).hostname.includes(',')) return text;
    return reject(issue, 'must have one host, which leads to the primary');
  }
  return reject(issue, 'must be a URL such as postgres://user:password@host:5432/database');
});

/** `host:port`, or a host alone. */
export const grpcAddress = z.string().transform((text, issue) => {
  const [, , number] = /^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::(\d{1,5}))?$/i.exec(text) ?? [
    undefined,
    undefined,
    '0',
  ];
  if (number === undefined || (Number(number) >= 1 && Number(number) <= 65_535)) return text;
  return reject(issue, 'must be host:port, such as temporal.example:7233');
});

export const buildId = z
  .string()
  .regex(/^[\w.-]{1,128}$/, 'must be 1 to 128 letters, digits, dots, hyphens and underscores');

/** `name=value` pairs, percent-encoded, separated by commas. Source: OpenTelemetry, "Protocol Exporter". */
export const headerPairs = z.string().transform((text, issue): Record<string, string> => {
  const pairs = text.split(',').filter((pair) => pair.trim() !== '');
  const headers: Record<string, string> = {};
  for (const pair of pairs) {
    const equals = pair.indexOf('=');
    const [name, written] = [pair.slice(0, Math.max(equals, 0)).trim(), pair.slice(equals + 1).trim()];
    const value = written.replaceAll(/%([0-9a-f]{2})/gi, (_, hex) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
    const isWhole = /^(?:[^%]|%[0-9a-f]{2})*$/i.test(written) && /^[\x20-\x7e]*$/.test(value);
    if (!/^[\w-]+$/.test(name) || !isWhole)
      return reject(issue, 'must be name=value pairs in ASCII, separated by commas and percent-encoded');
    headers[name.toLowerCase()] = value;
  }
  return headers;
});

export const ratio = z.string().transform((text, issue) => {
  const number = Number(text);
  if (/^\d(\.\d+)?$/.test(text) && number <= 1) return number;
  return reject(issue, 'must be a number from 0 to 1');
});

const list = z.string().transform((text) => text.split(/[\s,]+/).filter((part) => part !== ''));

export const networks = list.superRefine((blocks, issue) => {
  for (const block of blocks) {
    if (!ipaddr.isValidCIDR(block)) reject(issue, `"${block}" is not a CIDR block such as 10.0.0.0/8`);
  }
});

/** IP addresses of DNS servers, separated by commas or spaces; the port is 53 unless given. */
export const dnsServers = list.superRefine((servers, issue) => {
  for (const server of servers) {
    if (!isAddressWithPort(server))
      reject(
        issue,
        `"${server}" is not an IP address such as 192.0.2.53, 192.0.2.53:5353 or [2001:db8::53]:5353`,
      );
  }
});

function isAddressWithPort(text: string): boolean {
  if (ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text)) return true;
  const [, v6, v4, number] = /^(?:\[([^\]]+)\]|([0-9.]+)):(\d{1,5})$/.exec(text) ?? [];
  const isAddress = v6 === undefined ? ipaddr.IPv4.isValidFourPartDecimal(v4 ?? '') : ipaddr.IPv6.isValid(v6);
  return isAddress && Number(number) >= 1 && Number(number) <= 65_535;
}

/**
 * Keys of 32 bytes in base64, or wrapped ones, separated by commas or spaces. The first seals; all of them open. A
 * wrapped key is left out: a process that needs it has asked for the key itself before (`app/keys.ts`).
 */
export const sealingKeys = list.transform((texts, issue): MasterKey[] => {
  if (texts.length === 0) return reject(issue, 'must hold a key of 32 bytes in base64');
  return texts.flatMap((text) => {
    if (parseWrappedKey(text) !== undefined) return [];
    const key = Buffer.from(text, 'base64');
    if (key.length !== 32 || text.includes(':'))
      reject(
        issue,
        'each key must be 32 bytes in base64, or awskms:<key>:… or vault:<key>:… of master-key wrap',
      );
    return [{ id: createHash('sha256').update(key).digest('hex').slice(0, 8), key }];
  });
});

function isWebUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

function reject(issue: z.RefinementCtx, message: string): never {
  issue.addIssue({ code: 'custom', message });
  return z.NEVER;
}

// Defects that the scenarios must find: statements without one of their locks or conditions.

import { CLIENT_VERSION } from '../../src/identity/applications/application.ts';
import { HOLDER_VERSION } from '../../src/identity/keys/key.ts';
import type { ScenarioName } from './scenarios.ts';

export type Defect = {
  readonly name: string;
  readonly scenario: ScenarioName;
  readonly alter: (text: string) => string;
  /** How the defect shows. */
  readonly shows: RegExp;
  /** The first seed that found it; where it finds it no more, the others are tried from 0. */
  readonly seed: number;
};

const OLD = /token of the old state is accepted/;
const IS_HOLDER = / AND concat_ws\('\.', k\.xmin, a\.xmin\) = (?:asked\.version|(\$\d))/;

export const DEFECTS: readonly Defect[] = [
  {
    name: 'a step of a rotation does not lock the new key',
    scenario: 'keyRotation',
    alter: (text) => (text.includes('FROM "agent_keys"') ? text.replace(' FOR KEY SHARE', '') : text),
    shows: /^deadlock/,
    seed: 68,
  },
  {
    name: 'a redemption locks neither agent nor key',
    scenario: 'redemption',
    alter: (text) =>
      text.includes('UPDATE challenges') ? text.replace(/FOR KEY SHARE OF a, k( SKIP LOCKED)?/, '') : text,
    shows: /live refresh tokens|ended agent/,
    seed: 28,
  },
  {
    name: 'a challenge is consumed without a lock',
    scenario: 'redemption',
    alter: (text) =>
      text.includes('UPDATE challenges')
        ? text
            .replace(/FOR NO KEY UPDATE OF c( SKIP LOCKED)?/, '')
            .replace(/(challenges\.id = decided\.id) AND consumed_at IS NULL AND expired_at IS NULL/, '$1')
        : text,
    shows: /two answers/,
    seed: 58,
  },
  {
    name: 'a refresh token is spent although it was used',
    scenario: 'refreshing',
    alter: (text) => text.replace('t.id = holder.id AND t.used_at IS NULL', 't.id = holder.id'),
    shows: /two successors|live tokens/,
    seed: 4,
  },
  {
    name: 'the end of a family does not wait for uses under way',
    scenario: 'refreshing',
    alter: (text) => (text.startsWith('SELECT 1 FROM agents') ? text.replace('FOR UPDATE', '') : text),
    shows: /live token after use the spent token|is accepted after use the spent token/,
    seed: 171,
  },
  {
    name: 'a redemption does not compare the version of key and agent',
    scenario: 'endings',
    alter: (text) =>
      text.includes('UPDATE challenges') ? text.replace(`${HOLDER_VERSION} = asked.version`, 'true') : text,
    shows: OLD,
    seed: 116,
  },
  {
    name: 'a refresh does not compare the version of key and agent',
    scenario: 'endings',
    alter: (text) =>
      text.includes('FOR KEY SHARE OF a, k, root')
        ? text.replace(IS_HOLDER, (_, given) => (given ? ` AND ${given}::text IS NOT NULL` : ''))
        : text,
    shows: OLD,
    seed: 17,
  },
  {
    name: 'client credentials do not compare the version of the client',
    scenario: 'endings',
    alter: (text) => text.replace(`${CLIENT_VERSION} = application.version`, 'true'),
    shows: OLD,
    seed: 60,
  },
  {
    name: 'client credentials do not lock the application',
    scenario: 'endings',
    alter: (text) => text.replace(/FOR KEY SHARE OF application( SKIP LOCKED)?/, ''),
    shows: OLD,
    seed: 604,
  },
  {
    name: 'an exchange does not compare the version of the client',
    scenario: 'endings',
    alter: (text) =>
      text.replace(/concat_ws\('\.', client\.xmin.*\) = (request\.client_version)/, '$1 IS NOT NULL'),
    shows: OLD,
    seed: 88,
  },
  {
    name: 'a change of an agent does not wait for tokens that are being issued',
    scenario: 'endings',
    alter: (text) =>
      /^SELECT .* FROM "agents" .* FOR UPDATE/s.test(text)
        ? text.replace('FOR UPDATE', 'FOR KEY SHARE')
        : text,
    shows: /old state is accepted by a guard/,
    seed: 191,
  },
  {
    name: 'the end of a family does not wait for exchanges',
    scenario: 'endings',
    alter: (text) => (text.startsWith('SELECT 1 FROM agents') ? text.replace('FOR UPDATE', '') : text),
    shows: /old state is accepted by a guard/,
    seed: 196,
  },
  {
    name: 'a claim does not lock the rows that it takes',
    scenario: 'deliveries',
    alter: (text) => text.replaceAll('FOR UPDATE SKIP LOCKED) AS ids', ') AS ids'),
    shows: /it was sent twice/,
    seed: 282,
  },
  {
    name: 'a failure is recorded without a lock on its delivery',
    scenario: 'deliveries',
    alter: (text) => text.replace('BETWEEN $2 AND $3 ORDER BY d.id FOR UPDATE OF d', 'BETWEEN $2 AND $3'),
    shows: /it was canceled and goes on/,
    seed: 26,
  },
  {
    name: 'a publication does not take the lock of its idempotency key',
    scenario: 'publishing',
    alter: (text) =>
      text.replaceAll(
        /pg_try_advisory_xact_lock\(hashtextextended\(([^,]*), 0\)\)/g,
        '($1::text IS NOT NULL)',
      ),
    shows: /did the work of one key|two answers/,
    seed: 3,
  },
];

// Defects that the scenarios must find: statements without one of their locks or conditions.
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

export const DEFECTS: readonly Defect[] = [
  {
    name: 'a step of a rotation does not lock the new key',
    scenario: 'keyRotation',
    alter: (text) => (text.includes('FROM "agent_keys"') ? text.replace(' FOR KEY SHARE', '') : text),
    shows: /^deadlock/,
    seed: 25,
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
    seed: 38,
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
    alter: (text) =>
      text.startsWith('SELECT 1 FROM refresh_tokens WHERE id') ? text.replace('FOR UPDATE', '') : text,
    shows: /live token after use the spent token|is accepted after use the spent token/,
    seed: 171,
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
